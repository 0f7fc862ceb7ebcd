"""Resource amounts of pods. A resource list is a dict from resource name to `Quantity`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from kubewright.api import Quantity
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["Amounts", "amounts_of", "pod_limits", "pod_requests", "sum_of", "written"]

Amounts: TypeAlias = dict[str, Quantity]


def amounts_of(given: Mapping[str, str] | None) -> Amounts:
    """Decodes a resource list."""
    return {name: Quantity(value) for name, value in (given or {}).items()}


def written(amounts: Amounts) -> dict[str, str]:
    """Encodes a resource list, sorted by name."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def sum_of(one: Amounts, other: Amounts) -> Amounts:
    """Returns the sum of two lists."""
    made = dict(one)
    for name, value in other.items():
        made[name] = made[name] + value if name in made else value
    return made


def _largest(one: Amounts, other: Amounts) -> Amounts:
    made = dict(one)
    for name, value in other.items():
        if name not in made or value > made[name]:
            made[name] = value
    return made


def pod_requests(spec: JSONObject) -> Amounts:
    """Returns the effective requests of a pod: the containers together, or an init container if that is more."""
    return _total(spec, "requests")


def pod_limits(spec: JSONObject) -> Amounts:
    """Returns the effective limits of a pod."""
    return _total(spec, "limits")


def _total(spec: JSONObject, field: str) -> Amounts:
    total: Amounts = {}
    for container in spec.get("containers") or ():
        total = sum_of(total, _of(container, field))
    beside: Amounts = {}
    before: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _of(container, field)
        if container.get("restartPolicy") == "Always":  # a sidecar runs along with the other containers
            total, beside = sum_of(total, own), sum_of(beside, own)
            own = beside
        else:
            own = sum_of(own, beside)
        before = _largest(before, own)
    total = _largest(total, before)
    return total | amounts_of((spec.get("resources") or {}).get(field))


def _of(container: JSONObject, field: str) -> Amounts:
    return amounts_of((container.get("resources") or {}).get(field))
