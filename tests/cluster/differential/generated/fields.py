"""Changes to an object that its OpenAPI schema suggests: each field absent, null, of another type, at its limits."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["ABSENT", "Change", "Schemas", "applied", "changes"]

ABSENT: Final = object()
"""The value of a change that removes its field."""

_DEPTH: Final = 12
_SKIPPED: Final = {"managedFields"}  # of metadata: the lifecycles write them
_LONG: Final = "a" * 300
_STRINGS: Final = {"x": "x", "empty": "", "uppercase": "Not_A Name", "long": _LONG, "path": "/a/../b", "dns": "a.b-c"}
_INTEGERS: Final = {"minus one": -1, "zero": 0, "one": 1, "big": 70000, "beyond int32": 1 << 31, "fraction": 1.5}
_FORMATS: Final[dict[str, dict[str, Any]]] = {
    "date-time": {"time": "2030-01-01T00:00:00Z", "no time": "yesterday", "micro time": "2030-01-01T00:00:00.123456Z"},
    "byte": {"base64": "YQ==", "no base64": "!!"},
    "int-or-string": {"number": 3, "percent": "50%", "word": "x", "minus one": -1, "too much": "150%", "big": 70000},
    "quantity": {"number": 2, "unit": "1500m", "negative": "-1", "word": "x", "exponent": "1e3", "fraction": 0.1},
}
_KEYS: Final = {
    "key": "a",
    "empty key": "",
    "key with space": "a b",
    "qualified key": "example.com/a",
    "long key": _LONG,
}
_OTHER_TYPES: Final[dict[str, Any]] = {
    "string": 7,
    "integer": "x",
    "number": "x",
    "boolean": "x",
    "object": "x",
    "array": "x",
}


@dataclass(frozen=True)
class Change:
    """One field of an object, set to a value or removed."""

    path: tuple[str | int, ...]
    rule: str
    value: Any

    @property
    def field(self) -> str:
        """The path, as in messages of the server."""
        return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path).lstrip(".")


class Schemas:
    """The schemas of a document of OpenAPI v3."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._all: dict[str, Any] = document["components"]["schemas"]

    def of_kind(self, group: str, version: str, kind: str) -> dict[str, Any]:
        wanted = {"group": group, "version": version, "kind": kind}
        return next(
            schema for schema in self._all.values() if wanted in schema.get("x-kubernetes-group-version-kind", [])
        )

    def resolved(self, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """A schema without its reference, and the name of its definition."""
        for part in (schema, *schema.get("allOf", ())):
            if "$ref" in part:
                name = part["$ref"].rpartition("/")[2]
                return name, self._all[name]
        return "", schema


def changes(schemas: Schemas, schema: dict[str, Any], sample: Any) -> Iterator[Change]:
    """Every change of every field of a kind, in the order of the schema."""
    _, schema = schemas.resolved(schema)
    for name, inner in sorted(schema.get("properties", {}).items()):
        if name in ("apiVersion", "kind"):
            yield from _scalar((name,), "string", inner, ABSENT)
        else:
            yield from _walk(schemas, inner, (name,), sample.get(name, ABSENT), ())
    yield Change(("unknownField",), "unknown", "x")


def _walk(
    schemas: Schemas, schema: dict[str, Any], path: tuple[str | int, ...], sample: Any, above: tuple[str, ...]
) -> Iterator[Change]:
    name, schema = schemas.resolved(schema)
    if len(path) > _DEPTH or (name and name in above) or path[-1] in _SKIPPED:
        return
    above = (*above, name) if name else above
    yield Change(path, "null", None)
    if sample is not ABSENT:
        yield Change(path, "absent", ABSENT)
    format_ = "quantity" if name.endswith(".Quantity") else schema.get("format", "")
    if format_ in _FORMATS:
        yield from (Change(path, rule, value) for rule, value in _FORMATS[format_].items())
        yield Change(path, "another type", [])
    elif "properties" in schema:
        yield from _struct(schemas, schema, path, sample, above)
    elif schema.get("type") == "array":
        yield from _list(schemas, schema, path, sample, above)
    elif "additionalProperties" in schema:
        yield from _map(schemas, schema, path)
    else:
        yield from _scalar(path, schema.get("type", ""), schema, sample)


def _struct(
    schemas: Schemas, schema: dict[str, Any], path: tuple[str | int, ...], sample: Any, above: tuple[str, ...]
) -> Iterator[Change]:
    yield Change(path, "another type", "x")
    yield Change(path, "empty", {})
    yield Change((*path, "unknownField"), "unknown", "x")
    known = sample if isinstance(sample, dict) else {}
    for name, inner in sorted(schema["properties"].items()):
        yield from _walk(schemas, inner, (*path, name), known.get(name, ABSENT), above)


def _list(
    schemas: Schemas, schema: dict[str, Any], path: tuple[str | int, ...], sample: Any, above: tuple[str, ...]
) -> Iterator[Change]:
    yield Change(path, "another type", "x")
    yield Change(path, "empty", [])
    element = sample[0] if isinstance(sample, list) and sample else _smallest(schemas, schema["items"])
    yield Change(path, "one twice", [element, copy.deepcopy(element)])
    yield Change(path, "with null", [None])
    first = sample[0] if isinstance(sample, list) and sample else ABSENT
    yield from _walk(schemas, schema["items"], (*path, 0), first, above)


def _map(schemas: Schemas, schema: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Change]:
    yield Change(path, "another type", "x")
    yield Change(path, "empty", {})
    inner = schema["additionalProperties"]
    value = _smallest(schemas, inner)
    yield from (Change(path, rule, {key: value}) for rule, key in _KEYS.items())
    for change in _walk(schemas, inner, (*path, "a"), ABSENT, ()):
        if len(change.path) == len(path) + 1:
            yield change


def _scalar(path: tuple[str | int, ...], type_: str, schema: dict[str, Any], sample: Any) -> Iterator[Change]:
    if type_ in _OTHER_TYPES:
        yield Change(path, "another type", _OTHER_TYPES[type_])
    if type_ == "boolean":
        yield from (Change(path, str(value).lower(), value) for value in (True, False) if value is not sample)
    elif type_ in ("integer", "number"):
        yield from (Change(path, rule, value) for rule, value in _INTEGERS.items() if value != sample)
    elif type_ == "string":
        for value in schema.get("enum", ()):
            if value and value != sample:
                yield Change(path, f"enum {value}", value)
        yield from (Change(path, rule, value) for rule, value in _STRINGS.items() if value != sample)


def _smallest(schemas: Schemas, schema: dict[str, Any], depth: int = 0) -> Any:
    """A small value that decodes."""
    name, schema = schemas.resolved(schema)
    if name.endswith(".Quantity"):
        return "1"
    if schema.get("format") == "date-time":
        return "2030-01-01T00:00:00Z"
    if schema.get("format") == "int-or-string":
        return 1
    if schema.get("enum"):
        return next(value for value in schema["enum"] if value)
    match schema.get("type"):
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case "string":
            return "YQ==" if schema.get("format") == "byte" else "x"
        case "array":
            return [_smallest(schemas, schema["items"], depth + 1)] if depth < _DEPTH else []
    required = schema.get("required", ()) if depth < _DEPTH else ()
    return {name: _smallest(schemas, schema["properties"][name], depth + 1) for name in sorted(required)}


def applied(obj: dict[str, Any], change: Change) -> dict[str, Any]:
    """A copy of an object with a change; missing objects and lists on its path are made."""
    made = copy.deepcopy(obj)
    holder: Any = made
    for part, following in zip(change.path, change.path[1:], strict=False):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(part, int):
            if part >= len(holder):
                holder.append(empty)
            elif not isinstance(holder[part], type(empty)):
                holder[part] = empty
        elif not isinstance(holder.get(part), type(empty)):
            holder[part] = empty
        holder = holder[part]
    _set(holder, change.path[-1], change.value)
    return made


def _set(holder: Any, last: str | int, value: Any) -> None:
    if value is ABSENT:
        del holder[last]
    elif isinstance(last, int) and last >= len(holder):
        holder.append(value)
    else:
        holder[last] = value
