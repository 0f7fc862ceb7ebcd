"""Defaults of kinds that have only a few."""

from __future__ import annotations

from typing import Any, Final

from kubewright.cluster.defaults._fill import each, part, put
from kubewright.cluster.machinery._resources import JSONObject

__all__ = [
    "autoscaler",
    "csi_driver",
    "ingress_class",
    "limit_range",
    "network_policy",
    "node",
    "persistent_volume",
    "persistent_volume_claim",
    "priority_class",
    "resource_claim",
    "resource_claim_template",
    "role_binding",
    "storage_class",
]

_RBAC: Final = "rbac.authorization.k8s.io"


def persistent_volume_claim(obj: JSONObject) -> None:
    """Sets the defaults of a claim: a file system, pending."""
    put(part(obj, "spec"), volumeMode="Filesystem")
    put(part(obj, "status"), phase="Pending")


def persistent_volume(obj: JSONObject) -> None:
    """Sets the defaults of a volume: a file system, retained."""
    spec = part(obj, "spec")
    put(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    if (host := spec.get("hostPath")) is not None and "type" not in host:
        host["type"] = ""
    put(part(obj, "status"), phase="Pending")


def node(obj: JSONObject) -> None:
    """Defaults the allocatable resources to the capacity."""
    status = part(obj, "status")
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def limit_range(obj: JSONObject) -> None:
    """Derives default limits from the maximum, and default requests from default limits and the minimum."""
    for limit in each(part(obj, "spec"), "limits"):
        if limit.get("type") != "Container":
            continue
        for name, value in (limit.get("max") or {}).items():
            limit.setdefault("default", {}).setdefault(name, value)
        for source in ("default", "min"):
            for name, value in (limit.get(source) or {}).items():
                limit.setdefault("defaultRequest", {}).setdefault(name, value)


def network_policy(obj: JSONObject) -> None:
    """Defaults the policy types: ingress, and egress if there are egress rules."""
    spec = part(obj, "spec")
    for rule in each(spec, "ingress", "egress"):
        for port in each(rule, "ports"):
            put(port, protocol="TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def csi_driver(obj: JSONObject) -> None:
    """Defaults the capabilities of a driver."""
    spec = part(obj, "spec")
    put(spec, fsGroupPolicy="ReadWriteOnceWithFSType")
    for name in ("attachRequired", "podInfoOnMount", "requiresRepublish", "seLinuxMount", "storageCapacity"):
        if spec.get(name) is None:
            spec[name] = name == "attachRequired"
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def resource_claim(obj: JSONObject) -> None:
    """Requests one device by default."""
    for request in each(part(part(obj, "spec"), "devices"), "requests"):
        wanted = [] if request.get("exactly") is None else [request["exactly"]]
        for device in [*wanted, *each(request, "firstAvailable")]:
            put(device, allocationMode="ExactCount")
            if device["allocationMode"] == "ExactCount" and not device.get("count"):
                device["count"] = 1
            for toleration in each(device, "tolerations"):
                put(toleration, operator="Equal")


def resource_claim_template(obj: JSONObject) -> None:
    """Defaults the claim in a template."""
    resource_claim(part(obj, "spec"))


def ingress_class(obj: JSONObject) -> None:
    """Defaults the scope of parameters to the cluster."""
    if (parameters := part(obj, "spec").get("parameters")) is not None:
        put(parameters, scope="Cluster")


def role_binding(obj: JSONObject) -> None:
    """Defaults the API groups of the role and the subjects."""
    put(part(obj, "roleRef"), apiGroup=_RBAC)
    for subject in each(obj, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            put(subject, apiGroup=_RBAC)


def priority_class(obj: JSONObject) -> None:
    """Defaults the preemption policy."""
    put(obj, preemptionPolicy="PreemptLowerPriority")


def storage_class(obj: JSONObject) -> None:
    """Defaults the reclaim policy to Delete and the binding mode to Immediate."""
    put(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def autoscaler(obj: JSONObject) -> None:
    """Defaults to at least one replica, 80 % CPU utilization, and the usual pace of scaling."""
    spec = part(obj, "spec")
    put(spec, minReplicas=1)
    if obj.get("apiVersion") == "autoscaling/v2" and not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        percent = {"type": "Percent", "value": 100, "periodSeconds": 15}
        pods = {"type": "Pods", "value": 4, "periodSeconds": 15}
        _pace(behavior, "scaleUp", stabilizationWindowSeconds=0, selectPolicy="Max", policies=[pods, percent])
        _pace(behavior, "scaleDown", selectPolicy="Max", policies=[percent.copy()])


def _pace(behavior: JSONObject, name: str, **defaults: Any) -> None:
    """Sets the fields of scaling rules that are absent or null. An empty policy stays, and is rejected."""
    rules = part(behavior, name)
    rules.update({field: value for field, value in defaults.items() if rules.get(field) is None})
