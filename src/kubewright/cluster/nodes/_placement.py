"""Whether a node suits a pod, with the rules and messages of the Kubernetes 1.36 scheduler. No I/O.

Cordons, taints, node selectors and required node affinity are checked. Resource requests are not: simulated nodes have
unlimited capacity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kubewright.api import core

__all__ = ["NAME_FIELD", "is_selected", "obstacle", "required_terms", "toleration_of", "untolerated"]

NAME_FIELD: Final = "metadata.name"
_CORDON: Final = core.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_KEEP_AWAY: Final = ("NoSchedule", "NoExecute")


def obstacle(spec: core.PodSpec, node: core.Node) -> str | None:
    """Returns the reason why the pod cannot run on the node; None if it can."""
    tolerations, named = spec.tolerations or (), _named(spec)
    if named is not None and node.metadata.name not in named:
        return "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    if node.spec.unschedulable and toleration_of(_CORDON, tolerations) is None:
        return "node(s) were unschedulable"
    if any(taint.effect in _KEEP_AWAY for taint in untolerated(node, tolerations)):
        return "node(s) had untolerated taint(s)"
    if not is_selected(spec, node):
        return "node(s) didn't match Pod's node affinity/selector"
    return None


def untolerated(node: core.Node, tolerations: Sequence[core.Toleration]) -> list[core.Taint]:
    """Returns the taints of the node that no toleration matches."""
    return [taint for taint in node.spec.taints or () if toleration_of(taint, tolerations) is None]


def toleration_of(taint: core.Taint, tolerations: Sequence[core.Toleration]) -> core.Toleration | None:
    """Returns the first toleration that matches the taint."""
    return next((each for each in tolerations if _tolerates(each, taint)), None)


def is_selected(spec: core.PodSpec, node: core.Node) -> bool:
    """Returns whether the pod's node selector and required affinity match the node."""
    labels, terms = node.metadata.labels, required_terms(spec.affinity)
    if not (spec.node_selector or {}).items() <= labels.items():
        return False
    return not terms or any(_matches(term, node.metadata.name, labels) for term in terms)


def required_terms(affinity: core.Affinity | None) -> Sequence[core.NodeSelectorTerm]:
    """Returns the required node affinity terms, of which a node must match one."""
    node = affinity.node_affinity if affinity is not None else None
    required = node.required_during_scheduling_ignored_during_execution if node is not None else None
    return required.node_selector_terms if required is not None else ()


def _named(spec: core.PodSpec) -> set[str] | None:
    """Returns the node names in the affinity; None unless each term names nodes, as for pods of a DaemonSet."""
    named: set[str] = set()
    for term in required_terms(spec.affinity):
        given = [set(each.values or ()) for each in term.match_fields or () if each.operator == "In"]
        if not given:
            return None
        named |= set.intersection(*given)
    return named or None


def _matches(term: core.NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    by_label = all(_holds(each, labels.get(each.key)) for each in term.match_expressions or ())
    return by_label and all(_holds(each, name) for each in term.match_fields or ())


def _holds(requirement: core.NodeSelectorRequirement, value: str | None) -> bool:
    values = requirement.values or []
    match requirement.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" if value is not None and _is_number(value) and len(values) == 1 and _is_number(values[0]):
            return int(value) > int(values[0]) if requirement.operator == "Gt" else int(value) < int(values[0])
    return False


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def _tolerates(toleration: core.Toleration, taint: core.Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and (toleration.value or "") == (taint.value or "")
