"""Defaults of kinds with few of them."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._kinds import JSONObject
from kubewright.cluster.defaults._fill import each, part, put

__all__ = [
    "autoscaler",
    "ingress_class",
    "limit_range",
    "network_policy",
    "node",
    "persistent_volume",
    "persistent_volume_claim",
    "priority_class",
    "role_binding",
    "storage_class",
]

_RBAC: Final = "rbac.authorization.k8s.io"


def persistent_volume_claim(obj: JSONObject) -> None:
    """A file system, not bound yet."""
    put(part(obj, "spec"), volumeMode="Filesystem")
    put(part(obj, "status"), phase="Pending")


def persistent_volume(obj: JSONObject) -> None:
    """A file system, kept when its claim goes."""
    spec = part(obj, "spec")
    put(spec, persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")
    if (host := spec.get("hostPath")) is not None and "type" not in host:
        host["type"] = ""
    put(part(obj, "status"), phase="Pending")


def node(obj: JSONObject) -> None:
    """What can be allocated is all that there is."""
    status = part(obj, "status")
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def limit_range(obj: JSONObject) -> None:
    """Limits and requests follow from each other."""
    for limit in each(part(obj, "spec"), "limits"):
        if limit.get("type") != "Container":
            continue
        for name, value in (limit.get("max") or {}).items():
            limit.setdefault("default", {}).setdefault(name, value)
        for source in ("default", "min"):
            for name, value in (limit.get(source) or {}).items():
                limit.setdefault("defaultRequest", {}).setdefault(name, value)


def network_policy(obj: JSONObject) -> None:
    """For what comes in; and for what goes out, if there are rules for that."""
    spec = part(obj, "spec")
    for rule in each(spec, "ingress", "egress"):
        for port in each(rule, "ports"):
            put(port, protocol="TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def ingress_class(obj: JSONObject) -> None:
    """Parameters are cluster-wide."""
    if (parameters := part(obj, "spec").get("parameters")) is not None:
        put(parameters, scope="Cluster")


def role_binding(obj: JSONObject) -> None:
    """Roles, users and groups are of RBAC; service accounts of the core group."""
    put(part(obj, "roleRef"), apiGroup=_RBAC)
    for subject in each(obj, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            put(subject, apiGroup=_RBAC)


def priority_class(obj: JSONObject) -> None:
    """May push others out."""
    put(obj, preemptionPolicy="PreemptLowerPriority")


def storage_class(obj: JSONObject) -> None:
    """Volumes go with their claims and are bound at once."""
    put(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def autoscaler(obj: JSONObject) -> None:
    """At least one replica, by 80 % of the processor time that was asked for."""
    spec = part(obj, "spec")
    put(spec, minReplicas=1)
    if obj.get("apiVersion") == "autoscaling/v2" and not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
