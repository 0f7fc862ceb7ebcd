"""The cost of a call after it ran, in the API server's units of about fifty nanoseconds."""

from __future__ import annotations

import math
from typing import Any, Final

from kubewright.api.cel._values import Opaque, Struct, size_of

__all__ = ["BEFORE", "call_cost", "cost_before", "costs_one"]

TRAVERSAL: Final = 0.1
"""The cost of one character of a string."""
REGEX: Final = 0.25
"""The cost of one character of a pattern."""

_TRAVERSING: Final = frozenset(
    {
        "url",
        "lowerAscii",
        "upperAscii",
        "substring",
        "trim",
        "cidr",
        "isIP",
        "isCIDR",
        "quantity",
        "isQuantity",
        "semver",
        "isSemver",
    }
)
_WHOLE_LIST: Final = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
_BY_FIRST: Final = frozenset(
    {"starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string", "strings_quote", "string_format"}
)
_BY_SMALLER: Final = frozenset(
    {"equals", "not_equals"}
    | {
        f"{word}_{kind}"
        for word in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    }
)
BEFORE: Final = frozenset(
    {"sets.contains", "sets.intersects", "sets.equivalent", "flatten", "sort", "distinct", "@sortByAssociatedKeys"}
)
"""The functions of `cost_before`."""
_BY_NAME: Final = (
    _TRAVERSING
    | _WHOLE_LIST
    | {"ip", "ip.isCanonical", "replace", "split", "join", "find", "findAll", "validate", "containsIP", "containsCIDR"}
    | {"_==_", "slice", "reverse", "lists.range"}
    | BEFORE
)
_BY_OVERLOAD: Final = (
    _BY_FIRST | _BY_SMALLER | {"in_list", "add_string", "add_bytes", "matches_string", "contains_string"}
)
_LIST: Final = 11  # creating a list
_ADDRESS: Final = 16  # the bytes of an address, at most


def costs_one(function: str, overload: str) -> bool:
    """Returns whether a call costs one, whatever its arguments are."""
    return function not in _BY_NAME and overload not in _BY_OVERLOAD


def cost_before(function: str, arguments: list[Any]) -> int | None:
    """Returns the cost of a call that compares every element with every other, to be charged before the call.

    None for any other function.
    """
    match function:
        case "sets.contains" | "sets.intersects" | "sets.equivalent":
            one, other = arguments
            return 1 + size_of(one) * size_of(other) * (2 if function == "sets.equivalent" else 1)
        case "sort" | "distinct" | "@sortByAssociatedKeys":
            counted = arguments[-1]
            first = counted[0] if counted else None
            factor = 2.1 if isinstance(first, str | bytes) else 2
            return _LIST + int(factor * size_of(counted) ** 2)
        case "flatten":
            depth = arguments[1] if len(arguments) > 1 else 1
            return _LIST + size_of(arguments[0]) * max(depth, 0)
        case _:
            return None


def call_cost(function: str, overload: str, arguments: list[Any], result: Any) -> int:
    """Returns the cost of a call with these arguments."""
    first = size_of(arguments[0]) if arguments else 0
    if function in _TRAVERSING or (function == "ip" and overload != "cidr_ip"):
        return _traversed(first)
    if function in _WHOLE_LIST:
        return _tree(arguments[0])
    match function:
        case "replace" | "split" | "ip.isCanonical":
            return _traversed(2 * first)
        case "join":
            return _traversed(2 * size_of(result))
        case "find" | "findAll":
            return _traversed(1 + first) * math.ceil(size_of(arguments[1]) * REGEX)
        case "validate":
            return _traversed(1 + size_of(arguments[1])) * math.ceil(int(arguments[0].pattern_size) * REGEX)
        case "containsIP" | "containsCIDR":
            return _contained(function, overload, arguments)
        case "_==_" if isinstance(arguments[0], Opaque):
            return 1
        case "slice" | "reverse" | "lists.range":
            return _LIST + size_of(result)
    return _of_overload(overload, arguments, first)


def _of_overload(overload: str, arguments: list[Any], first: int) -> int:
    if overload in _BY_FIRST:
        return _traversed(first)
    if overload in _BY_SMALLER:
        return _traversed(min(first, size_of(arguments[1])))
    match overload:
        case "in_list":
            return size_of(arguments[1])
        case "add_string" | "add_bytes":
            return _traversed(first + size_of(arguments[1]))
        case "matches_string":
            return _traversed(1 + first) * math.ceil(size_of(arguments[1]) * REGEX)
        case "contains_string":
            return _traversed(first) * _traversed(size_of(arguments[1]))
        case _:
            return 1


def _traversed(size: int) -> int:
    return math.ceil(size * TRAVERSAL)


def _contained(function: str, overload: str, arguments: list[Any]) -> int:
    cost = _traversed(2 * _ADDRESS) + (_traversed(_ADDRESS) + 1 if function == "containsCIDR" else 0)
    return cost + (_traversed(size_of(arguments[1])) if overload.endswith("_string") else 0)


def _tree(value: Any) -> int:
    """Returns the cost of traversing a value."""
    match value:
        case str():
            return int(len(value.encode()) * TRAVERSAL)
        case bytes():
            return int(len(value) * TRAVERSAL)
        case list():
            return sum(map(_tree, value))
        case dict() | Struct():
            return sum(_tree(key) + _tree(value[key]) for key in value)
        case _:
            return 1
