"""Which node a DaemonSet's pod is for, and whether it may run there. No I/O."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from kubewright.api import core

__all__ = ["affinity_to", "node_of", "tolerations_of", "verdict"]

_NAME_FIELD = "metadata.name"
# What a node may suffer from without its daemons having to leave: key and effect.
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def node_of(pod: core.Pod) -> str | None:
    """The node that the pod is on, or is made for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    for term in _terms(pod.spec.affinity):
        for one in term.match_fields or ():
            if one.key == _NAME_FIELD and one.operator == "In" and one.values:
                return one.values[0]
    return None


def _terms(affinity: core.Affinity | None) -> Sequence[core.NodeSelectorTerm]:
    node = affinity.node_affinity if affinity is not None else None
    required = node.required_during_scheduling_ignored_during_execution if node is not None else None
    return required.node_selector_terms if required is not None else ()


def affinity_to(given: core.Affinity | None, node: str) -> core.Affinity:
    """The affinity with which a scheduler can put the pod on that node alone."""
    made = copy.deepcopy(given) if given is not None else core.Affinity()
    made.node_affinity = made.node_affinity or core.NodeAffinity()
    this = core.NodeSelectorRequirement(key=_NAME_FIELD, operator="In", values=[node])
    terms = [core.NodeSelectorTerm(match_fields=[this])]
    made.node_affinity.required_during_scheduling_ignored_during_execution = core.NodeSelector(
        node_selector_terms=terms
    )
    return made


def tolerations_of(spec: core.PodSpec) -> list[core.Toleration]:
    """The pod's own tolerations, and those of every daemon."""
    made = list(spec.tolerations or ())
    for key, effect in (*_TOLERATED, *([_NETWORK] if spec.host_network else [])):
        wanted = core.Toleration(key=key, effect=effect, operator="Exists")
        if wanted not in made:
            made.append(wanted)
    return made


def verdict(template: core.PodTemplateSpec, node: core.Node) -> tuple[bool, bool]:
    """Whether a pod of the template should run on the node, and whether one that is there may stay."""
    spec = template.spec
    if spec is None:
        return False, False
    if spec.node_name and spec.node_name != node.metadata.name:
        return False, False
    labels = node.metadata.labels
    if not (spec.node_selector or {}).items() <= labels.items():
        return False, False
    terms = _terms(spec.affinity)
    if terms and not any(_matches(term, node.metadata.name, labels) for term in terms):
        return False, False
    tolerations = tolerations_of(spec)
    taints = node.spec.taints or ()
    hurting = {taint.effect for taint in taints if not any(_tolerates(each, taint) for each in tolerations)}
    return not hurting & {"NoSchedule", "NoExecute"}, "NoExecute" not in hurting


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
