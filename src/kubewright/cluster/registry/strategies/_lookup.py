"""Finds the strategy of a built-in kind.

A strategy and the validation of its kind are imported for the first request that needs them. Together they are a
hundred modules, and most clusters live for one test.
"""

from __future__ import annotations

from typing import Final

from kubewright.cluster.registry import strategies
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy

__all__ = ["strategy_for"]

_STRATEGIES: Final = {
    ("", "ConfigMap"): "ImmutableDataStrategy",
    ("", "Event"): "EventStrategy",
    ("events.k8s.io", "Event"): "EventStrategy",
    ("", "LimitRange"): "LimitRangeStrategy",
    ("", "Namespace"): "NamespaceStrategy",
    ("", "Node"): "NodeStrategy",
    ("", "Secret"): "SecretStrategy",
    ("", "Pod"): "PodStrategy",
    ("", "PodTemplate"): "PodTemplateStrategy",
    ("", "Service"): "ServiceStrategy",
    ("", "Endpoints"): "EndpointsStrategy",
    ("", "ReplicationController"): "ReplicationControllerStrategy",
    ("", "PersistentVolume"): "VolumeStrategy",
    ("", "PersistentVolumeClaim"): "ClaimStrategy",
    ("", "ResourceQuota"): "QuotaStrategy",
    ("apps", "ControllerRevision"): "RevisionStrategy",
    ("apps", "Deployment"): "DeploymentStrategy",
    ("apps", "ReplicaSet"): "ReplicaSetStrategy",
    ("apps", "StatefulSet"): "StatefulSetStrategy",
    ("apps", "DaemonSet"): "DaemonSetStrategy",
    ("batch", "Job"): "JobStrategy",
    ("batch", "CronJob"): "CronJobStrategy",
    ("policy", "PodDisruptionBudget"): "BudgetStrategy",
    ("autoscaling", "HorizontalPodAutoscaler"): "AutoscalerStrategy",
    ("coordination.k8s.io", "Lease"): "LeaseStrategy",
    ("discovery.k8s.io", "EndpointSlice"): "EndpointSliceStrategy",
    ("networking.k8s.io", "IPAddress"): "AddressStrategy",
    ("networking.k8s.io", "ServiceCIDR"): "AddressRangeStrategy",
    ("networking.k8s.io", "IngressClass"): "IngressClassStrategy",
    ("networking.k8s.io", "Ingress"): "IngressStrategy",
    ("networking.k8s.io", "NetworkPolicy"): "NetworkPolicyStrategy",
    ("node.k8s.io", "RuntimeClass"): "RuntimeClassStrategy",
    ("resource.k8s.io", "DeviceClass"): "DeviceClassStrategy",
    ("resource.k8s.io", "ResourceSlice"): "ResourceSliceStrategy",
    ("resource.k8s.io", "ResourceClaim"): "ResourceClaimStrategy",
    ("resource.k8s.io", "ResourceClaimTemplate"): "ResourceClaimTemplateStrategy",
    ("scheduling.k8s.io", "PriorityClass"): "PriorityClassStrategy",
    ("storage.k8s.io", "CSIDriver"): "DriverStrategy",
    ("storage.k8s.io", "CSINode"): "NodeDriversStrategy",
    ("storage.k8s.io", "CSIStorageCapacity"): "StorageCapacityStrategy",
    ("storage.k8s.io", "StorageClass"): "StorageClassStrategy",
    ("storage.k8s.io", "VolumeAttributesClass"): "AttributesClassStrategy",
    ("storage.k8s.io", "VolumeAttachment"): "VolumeAttachmentStrategy",
    ("rbac.authorization.k8s.io", "Role"): "RoleStrategy",
    ("rbac.authorization.k8s.io", "ClusterRole"): "RoleStrategy",
    ("rbac.authorization.k8s.io", "RoleBinding"): "BindingStrategy",
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): "BindingStrategy",
}


def strategy_for(api_version: str, kind: str, resource: str) -> BuiltinStrategy:
    """Returns the strategy of a built-in kind; `resource` is its qualified plural, such as `deployments.apps`."""
    name = _STRATEGIES.get((api_version.rpartition("/")[0], kind))
    strategy: type[BuiltinStrategy] = BuiltinStrategy if name is None else getattr(strategies, name)
    return strategy(api_version, kind, resource)
