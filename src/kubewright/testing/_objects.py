"""Hypothesis strategies for objects of a kind, from its schema."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kubewright.api import Object, from_dict, info_of
from kubewright.api.schema import schema_of, violations

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["objects_of"]

R = TypeVar("R", bound=Object)

_LETTERS: Final = "abcxyz"
_BOUNDS: Final = {"int32": 2**31, "int64": 2**63}
_MAX_MEMBERS: Final = 4
"""The default limit of items of a list or map: small ones show most errors."""


def objects_of(kind: type[R]) -> SearchStrategy[R]:
    """Returns a Hypothesis strategy for valid objects of a kind, with all fields of its schema.

    It ignores CEL rules. Raises TypeError for a class without a schema.
    """
    from hypothesis import strategies as st

    schema, info = schema_of(kind), info_of(kind)
    head = {"apiVersion": info.api_version, "kind": info.kind}
    names = st.text(_LETTERS, min_size=1, max_size=5)
    string_maps = st.dictionaries(names, names, max_size=2)
    metadata = {"name": names, "labels": string_maps, "annotations": string_maps}
    if info.namespaced:
        metadata["namespace"] = names
    parts = {name: part for name, part in schema["properties"].items() if name not in (*head, "metadata")}
    # The spec is always present and comes first: Hypothesis tends to leave later parts empty.
    always = {name for name, part in parts.items() if part.get("type") == "object"} | {*schema.get("required", ())}
    required = {name: _values(part) for name, part in parts.items() if name in always}
    optional = {name: _values(part) for name, part in parts.items() if name not in always}
    contents = st.fixed_dictionaries({**required, "metadata": st.fixed_dictionaries(metadata)}, optional=optional)
    valid = contents.filter(lambda content: not violations(schema, {**content, **head}))
    return valid.map(lambda content: from_dict(kind, {**content, **head}))


def _values(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    made = _TYPES[schema.get("type", "anything")](schema)
    if schema.get("nullable"):
        made = st.none() | made
    return made


def _anything(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    if schema.get("x-kubernetes-int-or-string"):
        if "pattern" in schema:  # a quantity
            return st.sampled_from(["1", "0", "500m", "1Gi", "2k", "0.5"])
        return st.integers(0, 100) | st.from_regex(r"[1-9][0-9]?%", fullmatch=True)
    scalars = st.booleans() | st.integers(-100, 100) | st.text(max_size=5)
    return st.recursive(scalars, lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=2), max_leaves=3)


def _strings(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    smallest, largest = schema.get("minLength", 0), schema.get("maxLength")
    match schema.get("format"):
        case "date-time":
            times = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1))  # formatted as UTC below
            return times.map(lambda time: time.strftime("%Y-%m-%dT%H:%M:%SZ"))
        case "date":
            return st.dates().map(lambda date: date.isoformat())
        case "byte":
            return st.binary(max_size=20).map(lambda content: base64.b64encode(content).decode())
        case "ipv4":
            return st.ip_addresses(v=4).map(str)
        case "ipv6":
            return st.ip_addresses(v=6).map(str)
        case "uuid":
            return st.uuids().map(str)
        case "duration":
            return st.integers(1, 9999).map(lambda seconds: f"{seconds}s")
    pattern = schema.get("pattern")
    if pattern is not None:
        try:
            found = st.from_regex(re.compile(pattern))
        except re.error:  # valid only in Go
            found = st.text()
        return found.filter(lambda text: smallest <= len(text) and (largest is None or len(text) <= largest))
    return st.text(min_size=smallest, max_size=max(smallest, 20) if largest is None else largest)


def _integers(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    bound = _BOUNDS.get(schema.get("format", ""), 2**53)
    smallest, largest = int(schema.get("minimum", -bound)), int(schema.get("maximum", bound - 1))
    smallest += bool(schema.get("exclusiveMinimum"))
    largest -= bool(schema.get("exclusiveMaximum"))
    step = int(schema.get("multipleOf", 1)) or 1
    return st.integers(-(-smallest // step), largest // step).map(lambda number: number * step)


def _numbers(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    if "multipleOf" in schema:
        return st.integers(-1000, 1000).map(lambda number: number * schema["multipleOf"])
    return st.floats(
        schema.get("minimum"),
        schema.get("maximum"),
        exclude_min=bool(schema.get("exclusiveMinimum")),
        exclude_max=bool(schema.get("exclusiveMaximum")),
        allow_nan=False,
        allow_infinity=False,
        width=32 if schema.get("format") == "float" else 64,
    )


def _arrays(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    smallest, largest = schema.get("minItems", 0), schema.get("maxItems")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    identity: Callable[[Any], object] | None = None
    if keys:
        identity = lambda element: repr([element.get(key) for key in keys])  # noqa: E731  # conditional
    elif schema.get("uniqueItems") or schema.get("x-kubernetes-list-type") == "set":
        identity = repr
    return st.lists(
        _values(schema.get("items", {})),
        min_size=smallest,
        max_size=max(smallest, _MAX_MEMBERS) if largest is None else min(largest, max(smallest, _MAX_MEMBERS)),
        unique_by=identity,
    )


def _objects(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    properties = {name: _values(part) for name, part in schema.get("properties", {}).items()}
    if properties:
        required = set(schema.get("required", ()))
        return st.fixed_dictionaries(
            {name: strategy for name, strategy in properties.items() if name in required},
            optional={name: strategy for name, strategy in properties.items() if name not in required},
        )
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        smallest = schema.get("minProperties", 0)
        most = min(schema.get("maxProperties", _MAX_MEMBERS), max(_MAX_MEMBERS, smallest))
        return st.dictionaries(st.text(max_size=5), _values(more), min_size=smallest, max_size=most)
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return st.dictionaries(st.text(max_size=3), _anything({}), max_size=2)
    return st.just({})


def _booleans(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    return st.booleans()


_TYPES: Final[Mapping[str, Callable[[Mapping[str, Any]], SearchStrategy[Any]]]] = {
    "anything": _anything,
    "string": _strings,
    "integer": _integers,
    "number": _numbers,
    "boolean": _booleans,
    "array": _arrays,
    "object": _objects,
}
