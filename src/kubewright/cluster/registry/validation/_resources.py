"""Validation of the resources of containers: their names, limits and requests."""

from __future__ import annotations

from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import qualified_name_problems

__all__ = ["amount_errors", "is_quota_resource", "quota_amount_errors", "resource_name_errors"]

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


def _value(name: str, amount: str, path: str) -> list[FieldError]:
    value = Quantity(amount)
    errors = [invalid(path, amount, "must be greater than or equal to 0")] if value < Quantity("0") else []
    if (name in _COUNTED or _is_extended(name)) and value.milli_value() % 1000:
        errors.append(invalid(path, amount, "must be an integer"))
    return errors


def _within_limit(name: str, amount: str, limit: str | None, path: str) -> list[FieldError]:
    """Validates a request. Devices and huge pages cannot be overcommitted: the request equals the limit."""
    exact = not _is_native(name) or name.startswith(_HUGE_PAGES)
    if limit is None:
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")] if exact else []
    value, most = Quantity(amount), Quantity(limit)
    if exact and value != most:
        return [invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limit}")]
    if value > most:
        return [invalid(f"{path}.requests", amount, f"must be less than or equal to {name} limit of {limit}")]
    return []


def resource_name_errors(name: str, path: str) -> list[FieldError]:
    """Validates the name of a resource of containers: a standard one, or one with a domain."""
    problems = qualified_name_problems(name)
    if "/" in name:
        odd = not _is_native(name) and not _is_extended(name)
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
    problems = qualified_name_problems(name)
    if not problems and "/" not in name and not (name == "storage" or is_quota_resource(name)):
        problems = ["must be a standard resource type or fully qualified"]
    if "/" not in name and not is_quota_resource(name):
        problems = [*problems, "must be a standard resource for quota"]
    return [*(invalid(path, name, problem) for problem in problems), *_value(name, amount, path)]


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_problems(f"requests.{name}")
