"""Comparison of JSON values. Python treats `True`, `1` and `1.0` as equal; JSON does not."""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ["canonical_json", "equal_json", "identical_json", "json_type"]

_encoder: Final = msgspec.json.Encoder(order="deterministic")


def canonical_json(value: Any) -> bytes:
    """Returns the JSON of a value with sorted members: the same bytes for identical values."""
    return _encoder.encode(value)


def identical_json(one: Any, other: Any) -> bool:
    """Returns whether two values have the same JSON, whatever the order of members: 1 is neither 1.0 nor true.

    Takes no longer than reading the smaller value.
    """
    # The first comparison is fast, and both values have the same size after it.
    return bool(one == other) and _encoder.encode(one) == _encoder.encode(other)


def equal_json(one: Any, other: Any) -> bool:
    """Returns whether two values are equal. Numbers compare by value: 1 is 1.0, but not true."""
    if one != other:
        return False
    kind = type(one)
    if kind is not dict and kind is not list:
        return (kind is bool) == (type(other) is bool)
    return _encoder.encode(one) == _encoder.encode(other) or _equal_below(one, other)


def _equal_below(one: Any, other: Any) -> bool:
    """Compares values that are equal in Python."""
    if type(one) is dict:
        return all(_equal_below(value, other[name]) for name, value in one.items())
    if type(one) is list:
        return all(map(_equal_below, one, other))
    return (type(one) is bool) == (type(other) is bool)


def json_type(value: Any) -> str:
    """Returns the type of a value as schemas name it. Every float is a `number`, also a whole one."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
