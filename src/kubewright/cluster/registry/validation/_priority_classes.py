"""Validation of PriorityClasses."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["priority_class_errors", "priority_class_update_errors"]

_SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_HIGHEST: Final = 1_000_000_000
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def priority_class_errors(obj: JSONObject) -> list[FieldError]:
    """Validates a new PriorityClass."""
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    errors = []
    if name.startswith("system-"):
        if problem := _system_problem(name, value, bool(obj.get("globalDefault"))):
            text = f"priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            errors.append(forbidden("metadata.name", text))
    elif value > _HIGHEST:
        errors.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
    policy = obj.get("preemptionPolicy")
    if policy == "":
        errors.append(required("preemptionPolicy"))
    elif policy is not None and policy not in _POLICIES:
        errors.append(not_supported("preemptionPolicy", policy, _POLICIES))
    return errors


def priority_class_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of the value and the policy."""
    errors = []
    if obj.get("value", 0) != old.get("value", 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    if obj.get("preemptionPolicy") != old.get("preemptionPolicy"):
        errors.append(invalid("preemptionPolicy", obj.get("preemptionPolicy"), "field is immutable"))
    return errors


def _system_problem(name: str, value: int, default: bool) -> str:
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if default else ""
