"""Validation of the resources of containers: their names, limits and requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, duplicate, forbidden, invalid, not_found, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import label_problems, qualified_name_problems

__all__ = [
    "amount_errors",
    "claim_name_errors",
    "is_extended",
    "is_overcommitted",
    "is_quota_resource",
    "quota_amount_errors",
    "resource_name_errors",
    "standard_name_errors",
]

_OF_CONTAINERS: Final = ("cpu", "memory", "ephemeral-storage")
_COUNTED: Final = (
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
)
_STANDARD: Final = frozenset(
    [*_OF_CONTAINERS, *_COUNTED, "storage", "requests.storage"]
    + [f"{kind}.{name}" for kind in ("requests", "limits") for name in _OF_CONTAINERS]
)
_HUGE_PAGES: Final = "hugepages-"


def amount_errors(resources: JSONObject, path: str) -> list[FieldError]:
    """Validates the limits and requests of a container."""
    errors: list[FieldError] = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in limits.items():
        place = f"{path}.limits[{name}]"
        errors += resource_name_errors(name, place) + _value(name, amount, place)
    for name, amount in requests.items():
        place = f"{path}.requests[{name}]"
        errors += resource_name_errors(name, place) + _value(name, amount, place)
        errors += _within_limit(name, amount, limits.get(name), path)
    names = {*limits, *requests}
    if any(name.startswith(_HUGE_PAGES) for name in names) and not names & {"cpu", "memory"}:
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    return errors


def claim_name_errors(claims: Iterable[JSONObject], path: str, known: Collection[str]) -> list[FieldError]:
    """Validates the ResourceClaims of a container, which must be claims of its pod."""
    errors: list[FieldError] = []
    names: set[str] = set()
    listed = f": {', '.join(sorted(known))}" if known else " which is empty"
    for index, claim in enumerate(claims):
        name, request, where = claim.get("name", ""), claim.get("request", ""), f"{path}[{index}]"
        if not name:
            errors.append(required(where))
            continue
        key = f"{name}/{request}" if request else name
        if name in names:
            errors.append(duplicate(where, name))
        else:
            errors += [invalid(f"{where}.request", request, problem) for problem in label_problems(request) if request]
            if key in names:
                errors.append(duplicate(where, key))
            elif not request:
                errors += [duplicate(where, name) for other in names if other.partition("/")[0] == name]
            names.add(key)
        if name not in known:
            error, text = not_found(where, name), f"must be one of the names in pod.spec.resourceClaims{listed}"
            errors.append(replace(error, message=f"{error.message}: {text}"))
    return errors


def _value(name: str, amount: str, path: str) -> list[FieldError]:
    value = Quantity(amount)
    errors = [invalid(path, amount, "must be greater than or equal to 0")] if value < Quantity("0") else []
    if (name in _COUNTED or is_extended(name)) and value.milli_value() % 1000:
        errors.append(invalid(path, amount, "must be an integer"))
    return errors


def _within_limit(name: str, amount: str, limit: str | None, path: str) -> list[FieldError]:
    """Validates a request. Devices and huge pages cannot be overcommitted: the request equals the limit."""
    exact = not is_overcommitted(name)
    if limit is None:
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")] if exact else []
    value, most = Quantity(amount), Quantity(limit)
    if exact and value != most:
        return [invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limit}")]
    if value > most:
        return [invalid(f"{path}.requests", amount, f"must be less than or equal to {name} limit of {limit}")]
    return []


def standard_name_errors(name: str, path: str) -> list[FieldError]:
    """Validates the name of any resource: a standard one, or one with a domain."""
    problems = qualified_name_problems(name)
    if not problems and "/" not in name and not (name == "storage" or is_quota_resource(name)):
        problems = ["must be a standard resource type or fully qualified"]
    return [invalid(path, name, problem) for problem in problems]


def is_overcommitted(name: str) -> bool:
    """Returns whether requests of a resource may be less than its limits."""
    return _is_native(name) and not name.startswith(_HUGE_PAGES)


def resource_name_errors(name: str, path: str) -> list[FieldError]:
    """Validates the name of a resource of containers: a standard one, or one with a domain."""
    problems = qualified_name_problems(name)
    if "/" in name:
        odd = not _is_native(name) and not is_extended(name)
        problems = [*problems, *(["doesn't follow extended resource name standard"] if odd else [])]
    else:
        standard = name in _STANDARD or name.removeprefix("requests.").startswith(_HUGE_PAGES)
        if not problems and not standard:
            problems = ["must be a standard resource type or fully qualified"]
        if name not in _OF_CONTAINERS and not name.startswith(_HUGE_PAGES):
            problems = [*problems, "must be a standard resource for containers"]
    return [invalid(path, name, problem) for problem in problems]


def is_quota_resource(name: str) -> bool:
    """Returns whether it is a standard resource that quotas count."""
    return name in _STANDARD - {"storage"} or name.removeprefix("requests.").startswith(_HUGE_PAGES)


def quota_amount_errors(name: str, amount: str, path: str) -> list[FieldError]:
    """Validates a resource of a quota: its name, and its amount."""
    errors = standard_name_errors(name, path)
    if "/" not in name and not is_quota_resource(name):
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return [*errors, *_value(name, amount, path)]


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Returns whether a resource has its own domain."""
    if _is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_problems(f"requests.{name}")
