"""The defaults that the real server sets in built-in kinds.

`defaults_of(group, kind)` returns a function that sets the defaults of an object in place: a Deployment's replicas and
strategy, a container's pull policy, a Service's session affinity. Applying it twice changes nothing. The object must
have been decoded as its Go struct first, which creates absent structs (`strategy: {}`). `complete_pod` and
`complete_job` set the fields that the server sets once, in new objects; `complete_changed_pod` those it sets on each
update of a pod.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubewright.cluster.defaults import _batch, _others, _pods, _services, _workloads
from kubewright.cluster.defaults._new import (
    add_default_tolerations,
    complete_changed_pod,
    complete_job,
    complete_pod,
    label_job,
)
from kubewright.cluster.defaults._workloads import TEMPLATE_GENERATION
from kubewright.cluster.machinery._resources import JSONObject

__all__ = [
    "TEMPLATE_GENERATION",
    "add_default_tolerations",
    "complete_changed_pod",
    "complete_job",
    "complete_pod",
    "defaults_of",
    "label_job",
]

_DEFAULTS: Final[dict[tuple[str, str], Callable[[JSONObject], None]]] = {
    ("", "Pod"): _pods.pod,
    ("", "PodTemplate"): _pods.pod_template,
    ("", "ReplicationController"): _workloads.replication_controller,
    ("", "Service"): _services.service,
    ("", "Endpoints"): _services.endpoints,
    ("", "PersistentVolume"): _others.persistent_volume,
    ("", "PersistentVolumeClaim"): _others.persistent_volume_claim,
    ("", "Node"): _others.node,
    ("", "LimitRange"): _others.limit_range,
    ("apps", "Deployment"): _workloads.deployment,
    ("apps", "ReplicaSet"): _workloads.replica_set,
    ("apps", "StatefulSet"): _workloads.stateful_set,
    ("apps", "DaemonSet"): _workloads.daemon_set,
    ("batch", "Job"): _batch.job,
    ("batch", "CronJob"): _batch.cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): _others.autoscaler,
    ("discovery.k8s.io", "EndpointSlice"): _services.endpoint_slice,
    ("networking.k8s.io", "NetworkPolicy"): _others.network_policy,
    ("networking.k8s.io", "IngressClass"): _others.ingress_class,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _others.role_binding,
    ("rbac.authorization.k8s.io", "RoleBinding"): _others.role_binding,
    ("scheduling.k8s.io", "PriorityClass"): _others.priority_class,
    ("resource.k8s.io", "ResourceClaim"): _others.resource_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): _others.resource_claim_template,
    ("storage.k8s.io", "CSIDriver"): _others.csi_driver,
    ("storage.k8s.io", "StorageClass"): _others.storage_class,
}


def defaults_of(group: str, kind: str) -> Callable[[JSONObject], None] | None:
    """Returns the function that defaults objects of a built-in kind in place; None if the kind has no defaults."""
    return _DEFAULTS.get((group, kind))
