"""The node of a DaemonSet's pod, and whether it may run there. No I/O."""

from __future__ import annotations

import copy

from kubewright.api import core
from kubewright.cluster.nodes import NAME_FIELD, is_selected, required_terms, untolerated

__all__ = ["affinity_to", "node_of", "tolerations_of", "verdict"]

# Node conditions that daemons tolerate: key and effect.
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
    """Returns the node that the pod runs on or is created for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    for term in required_terms(pod.spec.affinity):
        for one in term.match_fields or ():
            if one.key == NAME_FIELD and one.operator == "In" and one.values:
                return one.values[0]
    return None


def affinity_to(given: core.Affinity | None, node: str) -> core.Affinity:
    """Returns the affinity that restricts the pod to that node."""
    made = copy.deepcopy(given) if given is not None else core.Affinity()
    made.node_affinity = made.node_affinity or core.NodeAffinity()
    this = core.NodeSelectorRequirement(key=NAME_FIELD, operator="In", values=[node])
    terms = [core.NodeSelectorTerm(match_fields=[this])]
    made.node_affinity.required_during_scheduling_ignored_during_execution = core.NodeSelector(
        node_selector_terms=terms
    )
    return made


def tolerations_of(spec: core.PodSpec) -> list[core.Toleration]:
    """Returns the pod's own tolerations and those of every daemon."""
    made = list(spec.tolerations or ())
    for key, effect in (*_TOLERATED, *([_NETWORK] if spec.host_network else [])):
        wanted = core.Toleration(key=key, effect=effect, operator="Exists")
        if wanted not in made:
            made.append(wanted)
    return made


def verdict(template: core.PodTemplateSpec, node: core.Node) -> tuple[bool, bool]:
    """Returns whether a pod of the template should run on the node, and whether an existing one may stay."""
    spec = template.spec
    if spec is None:
        return False, False
    if spec.node_name and spec.node_name != node.metadata.name:
        return False, False
    if not is_selected(spec, node):
        return False, False
    hurting = {taint.effect for taint in untolerated(node, tolerations_of(spec))}
    return not hurting & {"NoSchedule", "NoExecute"}, "NoExecute" not in hurting
