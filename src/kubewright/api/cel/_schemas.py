"""The types, sizes and values that expressions see, from the schema of a custom resource.

`declare` returns the type of a schema with bounds for its size, which cost estimates need. It returns None for a schema
that expressions cannot see. `to_value` converts JSON to values: date and duration strings become times, the names of
fields are escaped, and lists that are sets or have keys get their own types.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from kubewright.api.cel import _types as types
from kubewright.api.cel._times import parse_duration, parse_timestamp
from kubewright.api.cel._types import Type
from kubewright.api.cel._values import EvaluationError, Keyed, Struct, Unordered
from kubewright.api.schema._cel import cel_name

__all__ = ["MAX_REQUEST", "Declared", "declare", "escape", "structs_of", "to_value", "with_metadata"]

MAX_REQUEST: Final = 3 * 1024 * 1024
"""The bytes of the largest request: nothing in an object can be larger."""

_ESCAPABLE: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_FORMATS: Final = {
    # type, smallest and largest size in JSON
    "duration": (types.DURATION, 3, 32),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 21, 32),
}
_SMALLEST_TEXT: Final = 2


def escape(name: str) -> str | None:
    """Returns the name of a field in expressions; None for a name that expressions cannot contain."""
    return cel_name(name) if _ESCAPABLE.fullmatch(name) else None


@dataclass(slots=True)
class Declared:
    """The type of a schema, and the bounds of its values."""

    type: Type
    smallest: int
    """The bytes of the smallest value in JSON."""
    most: int = 0
    """The maximum number of characters, elements or members of a value."""
    fields: dict[str, Declared] = field(default_factory=dict)
    element: Declared | None = None
    key: Declared | None = None


def with_metadata(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a whole object, where `apiVersion`, `kind` and the names in metadata are always visible."""
    text = {"type": "string"}
    metadata = {"type": "object", "properties": {"name": text, "generateName": text}}
    return {
        **schema,
        "properties": {**(schema.get("properties") or {}), "kind": text, "apiVersion": text, "metadata": metadata},
    }


def declare(schema: dict[str, Any], name: str, *, is_whole_object: bool = False) -> Declared | None:
    """Returns the type of a schema, whose structs are named after `name`."""
    if schema.get("x-kubernetes-int-or-string"):
        return Declared(types.DYN, 1, _longest(schema) if "maxLength" in schema else MAX_REQUEST - 2)
    if is_whole_object:
        schema = with_metadata(schema)
    match schema.get("type"):
        case "array":
            return _array(schema, name)
        case "object":
            others = schema.get("additionalProperties")
            return _map(schema, others, name) if isinstance(others, dict) else _object(schema, name)
        case "string":
            return _text(schema)
        case "boolean":
            return Declared(types.BOOL, 4)
        case "number":
            return Declared(types.DOUBLE, 1)
        case "integer":
            return Declared(types.INT, 1)
        case _:
            return None


def _member(schema: dict[str, Any], name: str) -> Declared | None:
    return declare(schema, name, is_whole_object=bool(schema.get("x-kubernetes-embedded-resource")))


def _array(schema: dict[str, Any], name: str) -> Declared | None:
    element = _member(schema.get("items") or {}, f"{name}.@idx")
    if element is None:
        return None
    most = schema.get("maxItems")
    fitting = (MAX_REQUEST - 2) // (element.smallest + 1)
    return Declared(types.list_of(element.type), 2, fitting if most is None else max(most, 0), element=element)


def _map(schema: dict[str, Any], others: dict[str, Any], name: str) -> Declared | None:
    element = _member(others, f"{name}.@elem")
    if element is None:
        return None
    most = schema.get("maxProperties")
    fitting = (MAX_REQUEST - 2) // (element.smallest + 6)
    key = Declared(types.STRING, _SMALLEST_TEXT)
    most = fitting if most is None else max(most, 0)
    return Declared(types.map_of(types.STRING, element.type), 2, most, element=element, key=key)


def _object(schema: dict[str, Any], name: str) -> Declared:
    fields, smallest = {}, 2
    required = schema.get("required") or ()
    for member, member_schema in (schema.get("properties") or {}).items():
        escaped = escape(member)
        declared = _member(member_schema, f"{name}.{escaped or member}")
        if declared is None:
            continue
        if escaped is not None:
            fields[escaped] = declared
        if member in required and member_schema.get("default") is None:
            smallest += len(member.encode()) + declared.smallest + 4
    return Declared(types.struct(name), smallest, fields=fields)


def _text(schema: dict[str, Any]) -> Declared:
    known = _FORMATS.get(schema.get("format") or "")
    if known is not None:
        return Declared(*known)
    longest = schema.get("maxLength")
    if schema.get("format") == "byte":
        return Declared(types.BYTES, _SMALLEST_TEXT, MAX_REQUEST - 2 if longest is None else max(longest, 0))
    return Declared(types.STRING, _SMALLEST_TEXT, _longest(schema))


def _longest(schema: dict[str, Any]) -> int:
    """Returns the largest size of a string in bytes, at four bytes per character."""
    if "maxLength" in schema:
        return 4 * max(int(schema["maxLength"]), 0)
    if schema.get("enum"):
        return max((len(each.encode()) for each in schema["enum"] if isinstance(each, str)), default=0)
    return MAX_REQUEST - 2


def structs_of(declared: Declared) -> dict[str, dict[str, Type]]:
    """Returns the fields of all structs in a type, by the struct's name."""
    found: dict[str, dict[str, Type]] = {}
    waiting = [declared]
    while waiting:
        each = waiting.pop()
        if each.type.kind == "struct":
            found[each.type.name] = {name: member.type for name, member in each.fields.items()}
            waiting += each.fields.values()
        elif each.element is not None:
            waiting.append(each.element)
    return found


# Values


def to_value(schema: dict[str, Any], declared: Declared | None, raw: Any) -> Any:
    """Returns a JSON value as expressions see it. Raises `EvaluationError` if it does not fit its schema."""
    if raw is None:
        if schema.get("nullable"):
            return None
        raise EvaluationError("invalid data, got null for schema with nullable=false")
    if schema.get("x-kubernetes-int-or-string"):
        return raw
    match schema.get("type"), raw:
        case "object", dict():
            return _object_value(schema, declared, raw)
        case "array", list():
            return _list_value(schema, declared, raw)
        case "string", str():
            return _text_value(schema.get("format") or "", raw)
        case "number", int() | float():
            return float(raw)
        case "integer", int() | float():
            return int(raw)
        case "boolean", bool():
            return raw
        case None | "", _:
            return raw
        case expected, _:
            raise EvaluationError(f"invalid data, expected {expected}, got {type(raw).__name__}")


def _object_value(schema: dict[str, Any], declared: Declared | None, raw: dict[str, Any]) -> Any:
    if schema.get("x-kubernetes-embedded-resource"):
        schema = with_metadata(schema)
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        element = declared.element if declared is not None else None
        return {name: to_value(others, element, member) for name, member in raw.items()}
    known: dict[str, tuple[dict[str, Any], Declared | None]] = {}
    shown: dict[str, Any] = {}
    for name, member_schema in (schema.get("properties") or {}).items():
        escaped = escape(name)
        if escaped is not None and name in raw:
            known[escaped] = (member_schema, declared.fields.get(escaped) if declared is not None else None)
            shown[escaped] = raw[name]
    convert: Callable[[str, Any], Any] = lambda name, member: to_value(*known[name], member)  # noqa: E731
    return Struct(shown, convert, declared.type if declared is not None else types.DYN)


def _list_value(schema: dict[str, Any], declared: Declared | None, raw: list[Any]) -> list[Any]:
    items, element = schema.get("items") or {}, declared.element if declared is not None else None
    made = [to_value(items, element, each) for each in raw]
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return Unordered(made)
        case "map":
            keys = schema.get("x-kubernetes-list-map-keys") or ()
            return Keyed(made, tuple(escape(key) or key for key in keys))
        case _:
            return made


def _text_value(format_: str, raw: str) -> Any:
    made: Any = raw
    match format_:
        case "duration":
            made = parse_duration(raw)
        case "date":
            made = parse_timestamp(f"{raw}T00:00:00Z")
        case "date-time":
            made = parse_timestamp(raw.upper().replace(" ", "T"))
        case "byte":
            try:
                made = base64.b64decode(raw, validate=True)
            except binascii.Error:
                made = None
    if made is None:
        raise EvaluationError(f"Invalid {format_} formatted string {raw}")
    return made
