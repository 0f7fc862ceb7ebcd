"""Strategies of built-in kinds: defaults, the fields that only the server sets, and the validation of each kind.

A strategy implements `kubewright.cluster.machinery._resources.Strategy`, as in kube-apiserver's registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

_MODULES = {
    "AddressRangeStrategy": "_specs",
    "AddressStrategy": "_specs",
    "AttributesClassStrategy": "_volumes",
    "AutoscalerStrategy": "_specs",
    "BindingStrategy": "_roles",
    "BudgetStrategy": "_specs",
    "ClaimStrategy": "_volumes",
    "CronJobStrategy": "_workloads",
    "DaemonSetStrategy": "_workloads",
    "DeploymentStrategy": "_workloads",
    "DeviceClassStrategy": "_devices",
    "DriverStrategy": "_volumes",
    "EndpointSliceStrategy": "_specs",
    "EndpointsStrategy": "_specs",
    "EventStrategy": "_events",
    "ImmutableDataStrategy": "_builtin",
    "IngressClassStrategy": "_specs",
    "IngressStrategy": "_specs",
    "JobStrategy": "_workloads",
    "LeaseStrategy": "_specs",
    "LimitRangeStrategy": "_specs",
    "NamespaceStrategy": "_builtin",
    "NetworkPolicyStrategy": "_specs",
    "NodeDriversStrategy": "_volumes",
    "NodeStrategy": "_builtin",
    "PodStrategy": "_workloads",
    "PodTemplateStrategy": "_workloads",
    "PriorityClassStrategy": "_specs",
    "QuotaStrategy": "_specs",
    "ReplicaSetStrategy": "_workloads",
    "ReplicationControllerStrategy": "_workloads",
    "ResourceClaimStrategy": "_devices",
    "ResourceClaimTemplateStrategy": "_devices",
    "ResourceSliceStrategy": "_devices",
    "RevisionStrategy": "_specs",
    "RoleStrategy": "_roles",
    "RuntimeClassStrategy": "_specs",
    "SecretStrategy": "_builtin",
    "ServiceStrategy": "_services",
    "StatefulSetStrategy": "_workloads",
    "StorageCapacityStrategy": "_volumes",
    "StorageClassStrategy": "_volumes",
    "VolumeAttachmentStrategy": "_volumes",
    "VolumeStrategy": "_volumes",
}
"""The strategies that `_lookup` finds by name, imported on first use."""

if not TYPE_CHECKING:  # type checkers report names that do not exist
    __getattr__ = lazy_exports(__name__, _MODULES)
