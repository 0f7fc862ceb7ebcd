"""The network policy of the manager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright.api import ObjectMeta, meta, networking
from kubewright.manifests._project import Project
from kubewright.manifests.manager._metrics import METRICS_PORT
from kubewright.manifests.manager._webhooks import WEBHOOK_PORT

__all__ = ["METRICS_LABEL", "metrics_ingress", "network_policy", "webhook_ingress"]

METRICS_LABEL: Final = {"metrics": "enabled"}
"""The label of namespaces whose pods may read the metrics, as in kubebuilder's projects."""

_DNS: Final = 53
# The ports of an API server and of its Service. A policy cannot select it, because it is usually not a pod.
_API_SERVER: Final = (443, 6443)


def network_policy(
    project: Project, ingress: Sequence[networking.NetworkPolicyIngressRule]
) -> networking.NetworkPolicy:
    """Returns the policy. Egress: DNS, the API server, and the project's rules. Probes are always allowed."""
    return networking.NetworkPolicy(
        metadata=ObjectMeta(name=project.prefix, namespace=project.namespace, labels=project.labels),
        spec=networking.NetworkPolicySpec(
            pod_selector=meta.LabelSelector(match_labels=project.selector),
            policy_types=["Ingress", "Egress"],
            ingress=list(ingress),
            egress=[
                networking.NetworkPolicyEgressRule(ports=[_port(_DNS, "UDP"), _port(_DNS)]),
                networking.NetworkPolicyEgressRule(ports=[_port(number) for number in _API_SERVER]),
                *project.egress,
            ],
        ),
    )


def metrics_ingress() -> networking.NetworkPolicyIngressRule:
    """Allows metrics from namespaces with the label."""
    peer = networking.NetworkPolicyPeer(namespace_selector=meta.LabelSelector(match_labels=METRICS_LABEL))
    return networking.NetworkPolicyIngressRule(from_=[peer], ports=[_port(METRICS_PORT)])


def webhook_ingress() -> networking.NetworkPolicyIngressRule:
    """Allows webhooks from anywhere: a policy cannot select the API server."""
    return networking.NetworkPolicyIngressRule(ports=[_port(WEBHOOK_PORT)])


def _port(number: int, protocol: str = "TCP") -> networking.NetworkPolicyPort:
    return networking.NetworkPolicyPort(port=number, protocol=protocol)
