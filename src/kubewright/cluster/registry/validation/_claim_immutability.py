"""Validation of ResourceClaims and their templates: their specs are immutable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["immutable_claim_errors", "immutable_claim_template_errors"]

_Type: TypeAlias = Mapping[str, tuple[Any, "_Type | None"]]
"""The fields of a Go type in order: the zero value of each, and its type if it is a struct or a list of structs."""

_CAPACITY: Final[_Type] = {"requests": (None, None)}
_SELECTOR: Final[_Type] = {"cel": (None, {"expression": ("", None)})}
_TOLERATION: Final[_Type] = {
    **dict.fromkeys(("key", "operator", "value", "effect"), ("", None)),
    "tolerationSeconds": (None, None),
}
_CLASS: Final[_Type] = {
    "deviceClassName": ("", None),
    "selectors": (None, _SELECTOR),
    "allocationMode": ("", None),
    "count": (0, None),
}
_DEMANDS: Final[_Type] = {"tolerations": (None, _TOLERATION), "capacity": (None, _CAPACITY)}
_REQUEST: Final[_Type] = {
    "name": ("", None),
    "exactly": (None, {**_CLASS, "adminAccess": (None, None), **_DEMANDS}),
    "firstAvailable": (None, {"name": ("", None), **_CLASS, **_DEMANDS}),
}
_CONSTRAINT: Final[_Type] = dict.fromkeys(("requests", "matchAttribute", "distinctAttribute"), (None, None))
_CONFIG: Final[_Type] = {
    "requests": (None, None),
    "opaque": (None, {"driver": ("", None), "parameters": (None, None)}),
}
_DEVICES: Final[_Type] = {
    "requests": (None, _REQUEST),
    "constraints": (None, _CONSTRAINT),
    "config": (None, _CONFIG),
}
_CLAIM: Final[_Type] = {"devices": ({}, _DEVICES)}
_METADATA: Final = (
    "name",
    "generateName",
    "selfLink",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
)
_OWNER: Final = ("apiVersion", "kind", "name", "uid")
_GO_NAMES: Final = {"cel": "CEL"}


def immutable_claim_errors(spec: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects a change of the spec of a ResourceClaim."""
    return [] if spec == old else [invalid("spec", _as_go(spec, _CLAIM), "field is immutable")]


def immutable_claim_template_errors(spec: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects a change of the spec of a ResourceClaimTemplate."""
    if spec == old:
        return []
    metadata = spec.get("metadata") or {}
    shown = {field: metadata[field] for field in _METADATA if metadata.get(field)}
    if owners := metadata.get("ownerReferences"):
        shown["ownerReferences"] = [{**dict.fromkeys(_OWNER, ""), **owner} for owner in owners]
    if finalizers := metadata.get("finalizers"):
        shown["finalizers"] = finalizers
    return [invalid("spec", {**shown, "Spec": _as_go(spec.get("spec") or {}, _CLAIM)}, "field is immutable")]


def _as_go(value: Any, type_: _Type | None) -> Any:
    """Returns a value as the real server quotes it: a Go struct without JSON names, with all its fields."""
    if type_ is None or value is None:
        return value
    if isinstance(value, list):
        return [_as_go(each, type_) for each in value]
    made = {}
    for field, (zero, inner) in type_.items():
        given = value.get(field)
        name = _GO_NAMES.get(field, field[0].upper() + field[1:])
        made[name] = _as_go(zero if given is None else given, inner)
    return made
