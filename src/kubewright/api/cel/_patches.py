"""The types that mutating policies use for patches.

`Object{spec: Object.spec{replicas: 3}}` is a part of the object that is being written. Its fields may have any name and
any type. Only the names of its types are checked, after evaluation: each must be the path to its value (`misnamed`).
`JSONPatch{op: "add", path: "/spec/replicas", value: 3}` is one operation.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from kubewright.api.cel import _types as types
from kubewright.api.cel._times import duration_text, timestamp_text
from kubewright.api.cel._types import Type
from kubewright.api.cel._values import Duration, EvaluationError, Struct, Timestamp, type_of_value

__all__ = [
    "JSON_PATCH",
    "OBJECT",
    "PATCH_FUNCTIONS",
    "field_of_patch",
    "made_patch",
    "misnamed",
    "patch_type",
    "to_json",
]

OBJECT: Final = types.struct("Object")
JSON_PATCH: Final = types.struct("JSONPatch")
PATCH_FUNCTIONS: Final = frozenset({"jsonpatch.escapeKey"})
"""Functions that only patches may use."""

_OPERATION: Final = {"op": types.STRING, "path": types.STRING, "from": types.STRING, "value": types.DYN}
_LARGEST_NUMBER: Final = 2**53 - 1  # the largest integer that every JSON reader supports
_GO_TYPES: Final = {bool: "bool", int: "int64", float: "float64", type(None): "structpb.NullValue"}


def patch_type(name: str) -> Type | None:
    """Returns the type with that name: `Object`, `Object.spec`, `JSONPatch`; None for any other name."""
    if name == JSON_PATCH.name:
        return JSON_PATCH
    return types.struct(name) if name == OBJECT.name or name.startswith(f"{OBJECT.name}.") else None


def field_of_patch(type_: Type, field: str) -> Type | None:
    """Returns the type of a field; None if there is no such field."""
    return _OPERATION.get(field) if type_ == JSON_PATCH else types.DYN


def made_patch(type_: Type, fields: dict[str, Any]) -> Struct:
    """Returns a value of one of these types."""
    if type_ == JSON_PATCH:
        for name, value in fields.items():
            if _OPERATION[name] == types.STRING and not isinstance(value, str):
                shown = _GO_TYPES.get(type(value), "map[string]interface {}")
                raise EvaluationError(f"unexpected type {shown} for JSONPatchType '{name}' field")
    return Struct(fields, lambda name, value: value, type_)


def misnamed(made: Struct) -> list[str]:
    """Returns the problem with the type names inside an object."""
    return [*_misnamed(made, made.type.name)]


def _misnamed(value: Any, path: str) -> Iterator[str]:
    match value:
        case Struct():
            if value.type.name != path:
                expected = f'expected "{path}", which matches field name path from root Object type'
                yield f'unexpected type name "{value.type.name}", {expected}'
            for name in value:
                yield from _misnamed(value[name], f"{path}.{name}")
        case list():
            for element in value:
                yield from _misnamed(element, path)
        case dict():
            for element in value.values():
                yield from _misnamed(element, path)


def to_json(value: Any) -> Any:
    """Returns a value as JSON. Times are strings, and so are numbers that JSON cannot hold.

    Raises `EvaluationError` for a value that JSON cannot represent.
    """
    match value:
        case Struct():
            return {name: to_json(value[name]) for name in value}
        case dict():
            return {str(name): to_json(each) for name, each in value.items()}
        case list():
            return [to_json(each) for each in value]
        case bytes():
            return base64.b64encode(value).decode()
        case Timestamp():
            return timestamp_text(value)
        case Duration():
            return duration_text(value)
        case None | bool() | float() | str():
            return value
        case int():
            return int(value) if abs(value) <= _LARGEST_NUMBER else str(int(value))
        case _:
            raise EvaluationError(f"type conversion error from '{type_of_value(value)}' to 'google.protobuf.Value'")
