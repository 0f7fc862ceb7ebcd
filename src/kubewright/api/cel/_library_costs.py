"""Estimated costs of library functions: CEL's extensions and Kubernetes' own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from kubewright.api.cel._nodes import Literal, Node
from kubewright.api.cel._ranges import NOTHING, ONE, REGEX, TRAVERSAL, UNBOUNDED, UNKNOWN, Range, fixed
from kubewright.api.cel._types import Type

__all__ = ["Argument", "Element", "library_cost"]

Element: TypeAlias = tuple[Type, Range]

_LONGEST_NAME_PATTERN: Final = 128


@dataclass(slots=True)
class Argument:
    """An argument of a call, or its target."""

    node: Node
    type: Type
    path: tuple[str, ...]
    size: Range | None


def library_cost(
    function: str, overload: str, target: Argument | None, arguments: list[Argument], element: Element | None
) -> tuple[Range, Range | None] | None:
    """Returns the cost and the size of the result; None for CEL's own functions.

    `element` is the type and size of the target's elements, if the target is a list.
    """
    sizes = [UNKNOWN if argument.size is None else argument.size for argument in arguments]
    own = UNKNOWN if target is None or target.size is None else target.size
    if (made := _list_made(function, overload, own, sizes, arguments)) is not None:
        return made
    if function in _NOMINAL or overload == "cidr_ip":
        return ONE, None
    if function in _PARSING and sizes:
        factor = 2 * TRAVERSAL if function == "ip.isCanonical" else TRAVERSAL
        return sizes[0].times(factor), sizes[0] if function == "url" else None
    match function:
        case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" if target is not None:
            return _over_elements(element, own), None
        case "lowerAscii" | "upperAscii" | "substring" | "trim":
            return own.times(TRAVERSAL), own
        case "replace":
            return own.times(2 * TRAVERSAL), _replaced(own, sizes[0], sizes[1])
        case "split":
            return own.times(2 * TRAVERSAL), Range(0, _pieces(arguments, own.most))
        case "join" if target is not None:
            size = _joined(element, own, sizes)
            return size.times(TRAVERSAL), size
        case "find" | "findAll":
            return (own + ONE).times(TRAVERSAL) * sizes[0].times(REGEX), Range(0, own.most)
        case "containsIP" | "containsCIDR":
            return _containing(function, overload, sizes[0]), None
        case "validate":
            return sizes[0].times(TRAVERSAL).times(_LONGEST_NAME_PATTERN * REGEX), None
        case "_==_" if arguments[0].type == arguments[1].type and arguments[0].type.name in _CHEAP_EQUALITY:
            return ONE, None
    return None


def _over_elements(element: Element | None, size: Range) -> Range:
    if element is None:
        return size.times(TRAVERSAL)
    each = ONE
    if element[0].name in ("string", "bytes"):
        each += element[1].times(TRAVERSAL)
    return size * each


def _joined(element: Element | None, count: Range, sizes: list[Range]) -> Range:
    size = count * element[1] if element is not None else NOTHING
    if sizes:
        size += sizes[0] * Range(max(count.least - 1, 0), max(count.most - 1, 0))
    return size


def _list_made(
    function: str, overload: str, own: Range, sizes: list[Range], arguments: list[Argument]
) -> tuple[Range, Range | None] | None:
    """Returns the cost of functions that return lists, or compare every element with every other."""
    factor, size = 1.0, own
    match function:
        case "sets.contains" | "sets.intersects" | "sets.equivalent":
            product = (sizes[0] * sizes[1]).times(2 if function == "sets.equivalent" else 1)
            return product + ONE, None
        case "slice":
            size = fixed(max(_number(arguments[1], own.most) - _number(arguments[0], 0), 0))
        case "lists.range":
            size = fixed(_number(arguments[0], UNBOUNDED))
        case "flatten":
            factor = float(_number(arguments[0], UNBOUNDED)) if arguments else 1.0
        case "reverse":
            pass
        case "distinct" | "sort" | "@sortByAssociatedKeys":
            counted = sizes[0] if function == "@sortByAssociatedKeys" else own
            size = counted * counted
            factor = 2.1 if overload.startswith(("list_string_", "list_bytes_")) else 2.0
        case _:
            return None
    return size.times(factor) + fixed(11), size


def _number(argument: Argument, otherwise: int) -> int:
    """Returns the value of an integer literal."""
    value = argument.node.value if isinstance(argument.node, Literal) else None
    return value if isinstance(value, int) and value >= 0 else otherwise


def _pieces(arguments: list[Argument], most: int) -> int:
    if len(arguments) > 1 and isinstance(arguments[1].node, Literal) and isinstance(arguments[1].node.value, int):
        limit = arguments[1].node.value
        return limit if limit >= 0 else UNBOUNDED
    return most


def _replaced(size: Range, old: Range, new: Range) -> Range:
    """Returns the size of a string after `replace`."""

    def one_end(length: int, smallest: int, *, keeps: bool) -> tuple[int, int]:
        """Returns the number of replacements and the number of characters that stay."""
        if smallest == 0:
            return min(length + 1, UNBOUNDED), length
        if keeps:
            return 0, length
        return math.ceil(float(length) / float(smallest)), 0

    most_count, most_kept = one_end(size.most, old.least, keeps=new.most <= old.least)
    least_count, least_kept = one_end(size.least, old.most, keeps=old.most <= new.least)
    return Range(least_count, min(most_count, UNBOUNDED)) * new + Range(least_kept, most_kept)


def _containing(function: str, overload: str, argument: Range) -> Range:
    size = Range(4, 16)
    cost = (size + size).times(TRAVERSAL)
    if function == "containsCIDR":
        cost += size.times(TRAVERSAL) + ONE
    return cost + argument.times(TRAVERSAL) if overload.endswith("_string") else cost


_NOMINAL: Final = frozenset(
    {
        "masked",
        "prefixLength",
        "family",
        "isUnspecified",
        "isLoopback",
        "isLinkLocalMulticast",
        "isLinkLocalUnicast",
        "isGlobalUnicast",
        "format.named",
        "sign",
        "asInteger",
        "isInteger",
        "asApproximateFloat",
        "isGreaterThan",
        "isLessThan",
        "compareTo",
        "add",
        "sub",
        "major",
        "minor",
        "patch",
        "getScheme",
        "getHostname",
        "getHost",
        "getPort",
        "getEscapedPath",
        "getQuery",
    }
)
_PARSING: Final = frozenset(
    {"url", "cidr", "isIP", "isCIDR", "ip", "ip.isCanonical", "quantity", "isQuantity", "semver", "isSemver"}
)
_CHEAP_EQUALITY: Final = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})
