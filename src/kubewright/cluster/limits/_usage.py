"""The usage of objects in quotas, and the quotas that count an object."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from kubewright.api import Quantity, parse_time
from kubewright.cluster.limits._amounts import Amounts, amounts_of, pod_limits, pod_requests, sum_of
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["UNSUPPORTED_SCOPES", "concerns", "counted_names", "missing_amounts", "usage_of"]

UNSUPPORTED_SCOPES: Final = frozenset({"CrossNamespacePodAffinity", "VolumeAttributesClass"})
"""The scopes of the real server's quotas that are not supported."""

_ONE: Final = Quantity("1")
_NONE: Final = Quantity("0")
_PLAIN: Final = frozenset({"configmaps", "secrets", "replicationcontrollers", "resourcequotas"})
_COMPUTED: Final = ("cpu", "memory", "ephemeral-storage")
_REQUIRED: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)  # required of each container if a quota counts them
_CLASS: Final = ".storageclass.storage.k8s.io/"


def usage_of(resource: str, obj: JSONObject, now: datetime) -> Amounts:
    """Returns the usage of an object; `resource` is its qualified plural (`deployments.apps`)."""
    usage = {f"count/{resource}": _ONE}
    if resource == "pods":
        return usage | (_computed(pod_requests(obj["spec"]), pod_limits(obj["spec"])) if _lives(obj, now) else {})
    if resource == "services":
        return usage | _service(obj["spec"])
    if resource == "persistentvolumeclaims":
        return usage | _claim(obj["spec"])
    return usage | ({resource: _ONE} if resource in _PLAIN else {})


def _lives(pod: JSONObject, now: datetime) -> bool:
    """Returns whether a pod still uses its resources: not after it finished, nor long after its deletion."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    metadata = pod["metadata"]
    deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    return not deleted or grace is None or now <= parse_time(deleted) + timedelta(seconds=grace)


def _computed(requests: Amounts, limits: Amounts) -> Amounts:
    made = {"pods": _ONE}
    for name, amount in requests.items():
        if name in _COMPUTED or name.startswith("hugepages-"):
            made[name] = amount
        if name in _COMPUTED or name.startswith("hugepages-") or "/" in name:
            made[f"requests.{name}"] = amount
    return made | {f"limits.{name}": amount for name, amount in limits.items() if name in _COMPUTED}


def _service(spec: JSONObject) -> Amounts:
    ports, kind = spec.get("ports") or (), spec.get("type")
    numbered = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        numbered = sum(1 for port in ports if port.get("nodePort"))
    balanced = _ONE if kind == "LoadBalancer" else _NONE
    return {"services": _ONE, "services.nodeports": Quantity(numbered), "services.loadbalancers": balanced}


def _claim(spec: JSONObject) -> Amounts:
    made = {"persistentvolumeclaims": _ONE}
    name = spec.get("storageClassName")
    if name:
        made[f"{name}{_CLASS}persistentvolumeclaims"] = _ONE
    storage = amounts_of((spec.get("resources") or {}).get("requests")).get("storage")
    if storage is not None:
        made["requests.storage"] = storage
        if name:
            made[f"{name}{_CLASS}requests.storage"] = storage
    return made


def counted_names(resource: str, hard: Iterable[str]) -> set[str]:
    """Returns the names of a quota that count objects of this resource, even if this object uses none of it."""
    return {name for name in hard if name == f"count/{resource}" or _is_of(resource, name)}


def _is_of(resource: str, name: str) -> bool:
    match resource:
        case "pods":
            return _is_of_pods(name)
        case "services":
            return name in ("services", "services.nodeports", "services.loadbalancers")
        case "persistentvolumeclaims":
            return name in ("persistentvolumeclaims", "requests.storage") or _CLASS in name
    return name == resource and resource in _PLAIN


def _is_of_pods(name: str) -> bool:
    if name == "pods" or name in _COMPUTED or name.startswith("hugepages-"):
        return True
    return name != "requests.storage" and _CLASS not in name and name.startswith(("requests.", "limits."))


def missing_amounts(pod: JSONObject, names: Iterable[str]) -> str:
    """Returns the counted resources that containers of a pod do not specify; "" if none is missing."""
    if (pod["spec"].get("resources") or {}).get("requests") or (pod["spec"].get("resources") or {}).get("limits"):
        return ""
    missing: dict[str, set[str]] = {}
    for container in (*(pod["spec"].get("containers") or ()), *(pod["spec"].get("initContainers") or ())):
        resources = container.get("resources") or {}
        has = _computed(amounts_of(resources.get("requests")), amounts_of(resources.get("limits")))
        for name in _REQUIRED & set(names) - set(has):
            missing.setdefault(name, set()).add(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def concerns(quota: JSONObject, resource: str, obj: JSONObject) -> bool:
    """Returns whether an object is in the scopes of a quota."""
    spec = quota.get("spec") or {}
    scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    if not scopes:
        return True
    return resource == "pods" and all(_in_scope(scope, obj["spec"]) for scope in scopes)


def _in_scope(scope: JSONObject, spec: JSONObject) -> bool:
    match scope["scopeName"]:
        case "Terminating":
            return (spec.get("activeDeadlineSeconds") or -1) >= 0
        case "NotTerminating":
            return (spec.get("activeDeadlineSeconds") or -1) < 0
        case "BestEffort":
            return _is_best_effort(spec)
        case "NotBestEffort":
            return not _is_best_effort(spec)
        case "PriorityClass":
            return _matches(scope, spec.get("priorityClassName") or "")
    return False


def _is_best_effort(spec: JSONObject) -> bool:
    amounts = sum_of(pod_requests(spec), pod_limits(spec))
    return not any(amounts.get(name) for name in ("cpu", "memory"))


def _matches(scope: JSONObject, value: str) -> bool:
    values = scope.get("values") or ()
    match scope.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "DoesNotExist":
            return not value
    return bool(value)
