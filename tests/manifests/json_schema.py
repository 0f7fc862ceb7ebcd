"""A validator for the part of JSON Schema that generated schemas use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def problems(schema: dict[str, Any], value: Any) -> list[str]:
    """What is wrong with a value, each with its place."""
    return list(_problems(schema, value, ""))


def _problems(schema: dict[str, Any], value: Any, place: str) -> Iterator[str]:
    at = f"{place}: " if place else ""
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(_is(value, name) for name in types):
        yield f"{at}not a {' or '.join(types)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}not one of {schema['enum']}"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{at}does not match {schema['pattern']}"
    if _is(value, "number"):
        if value < schema.get("minimum", value) or value <= schema.get("exclusiveMinimum", value - 1):
            yield f"{at}too small"
        if value > schema.get("maximum", value) or value >= schema.get("exclusiveMaximum", value + 1):
            yield f"{at}too large"
    for each in schema.get("allOf", ()):
        yield from _problems(each, value, place)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _problems(schema["items"], item, f"{place}[{index}]")
    if isinstance(value, dict):
        yield from _members(schema, value, place)


def _members(schema: dict[str, Any], value: dict[str, Any], place: str) -> Iterator[str]:
    at = f"{place}: " if place else ""
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}{name} is missing"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, member in value.items():
        inside = f"{place}.{name}" if place else name
        if name in known:
            yield from _problems(known[name], member, inside)
        elif others is False:
            yield f"{at}no field {name!r}"
        elif isinstance(others, dict):
            yield from _problems(others, member, inside)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
