"""Validation of ResourceQuotas: the names and amounts of their resources, and their scopes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._resources import is_quota_resource, quota_amount_errors

__all__ = ["quota_errors", "quota_status_errors", "quota_update_errors"]

_OF_PODS: Final = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity")
_SCOPES: Final = frozenset([*_OF_PODS, "PriorityClass", "VolumeAttributesClass"])
_CONFLICTING: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_PODS: Final = frozenset({"pods"})
_COMPUTED: Final = frozenset(f"{kind}{name}" for kind in ("", "limits.", "requests.") for name in ("cpu", "memory"))
_CLAIMS: Final = frozenset({"persistentvolumeclaims", "requests.storage"})
_LIMITED: Final = {
    **dict.fromkeys(_SCOPES, _PODS | _COMPUTED),
    "BestEffort": _PODS,
    "VolumeAttributesClass": _CLAIMS,
}
"""The resources that a quota with a scope may count."""
_EXISTS: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def quota_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec."""
    errors = [
        error for name, amount in (spec.get("hard") or {}).items() for error in _amount(name, amount, "spec.hard")
    ]
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
        errors += [
            invalid("spec.scopes", scopes, "unsupported scope applied to resource") for _ in _outside(scope, spec)
        ]
    errors += [invalid("spec.scopes", scopes, "conflicting scopes") for pair in _CONFLICTING if {*pair} <= {*scopes}]
    return [*errors, *_selector(spec)]


def quota_update_errors(spec: JSONObject, before: JSONObject) -> list[FieldError]:
    """Validates a changed spec."""
    scopes = spec.get("scopes") or []
    changed = {*scopes} != {*(before.get("scopes") or ())}
    return [*quota_errors(spec), *([invalid("spec.scopes", scopes, "field is immutable")] if changed else [])]


def quota_status_errors(status: JSONObject) -> list[FieldError]:
    """Validates the status."""
    given = ((field, name, amount) for field in ("hard", "used") for name, amount in (status.get(field) or {}).items())
    return [error for field, name, amount in given for error in _amount(name, amount, f"status.{field}")]


def _amount(name: str, amount: str, path: str) -> list[FieldError]:
    return quota_amount_errors(name, amount, f"{path}[{name}]")


def _outside(scope: str, spec: JSONObject) -> Iterator[str]:
    """Yields the resources that a quota of this scope may not count."""
    for name in sorted(spec.get("hard") or ()):
        if scope in _LIMITED and is_quota_resource(name) and name not in _LIMITED[scope]:
            yield name


def _selector(spec: JSONObject) -> Iterator[FieldError]:
    selector, path = spec.get("scopeSelector"), "spec.scopeSelector.matchExpressions"
    wanted = (selector or {}).get("matchExpressions") or []
    for each in wanted:
        scope, operator, values = each.get("scopeName", ""), each.get("operator", ""), each.get("values")
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        for _ in _outside(scope, spec):
            yield invalid(path, selector, "unsupported scope applied to resource")
        if scope in _OF_PODS and operator != "Exists":
            yield invalid(f"{path}.operator", operator, _EXISTS)
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required(f"{path}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid(f"{path}.values", values, text)
        else:
            yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    scopes = {each.get("scopeName", "") for each in wanted}
    for pair in _CONFLICTING:
        if {*pair} <= scopes:
            yield invalid(path, spec.get("scopes"), "conflicting scopes")
