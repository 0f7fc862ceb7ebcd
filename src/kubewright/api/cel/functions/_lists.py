"""Functions of lists: CEL's extension, and Kubernetes' own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any, Final

from kubewright.api.cel._values import CostExceeded, Duration, EvaluationError, compare, equal, no_overload

__all__ = ["IMPLEMENTATIONS"]

_LONGEST_RANGE: Final = 1_000_000


def _is_sorted(values: list[Any]) -> bool:
    return all(compare(values[place], values[place + 1]) <= 0 for place in range(len(values) - 1))


def _sum(values: list[Any]) -> Any:
    if not values:
        return 0
    if isinstance(values[0], Duration):
        return Duration(sum(value.nanoseconds for value in values))
    total = type(values[0])(sum(values))
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise EvaluationError("integer overflow")
    return total


def _extreme(name: str, order: int) -> Callable[[list[Any]], Any]:
    def find(values: list[Any]) -> Any:
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        found = values[0]
        for value in values[1:]:
            if compare(found, value) == order:
                found = value
        return found

    return find


def _index_of(values: list[Any], wanted: Any) -> int:
    return next((place for place, value in enumerate(values) if equal(value, wanted)), -1)


def _last_index_of(values: list[Any], wanted: Any) -> int:
    return next((place for place in reversed(range(len(values))) if equal(values[place], wanted)), -1)


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    problem = ""
    if start < 0 or end < 0:
        problem = "negative indexes not supported"
    elif start > end:
        problem = "start index must be less than or equal to end index"
    elif end > len(values):
        problem = f"list is length {len(values)}"
    if problem:
        raise EvaluationError(f"cannot slice({start}, {end}), {problem}")
    return list(values[start:end])


def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    made: list[Any] = []
    for value in values:
        if isinstance(value, list) and depth:
            made += _flatten(value, depth - 1)
        else:
            made.append(value)
    return made


def _sort_by(values: list[Any], keys: list[Any]) -> list[Any]:
    if len({type(key) for key in keys}) > 1:
        raise EvaluationError("list elements must have the same type")

    def by_key(one: int, other: int) -> int:
        return compare(keys[one], keys[other])

    return [values[place] for place in sorted(range(len(values)), key=cmp_to_key(by_key))]


def _distinct(values: list[Any]) -> list[Any]:
    made: list[Any] = []
    for value in values:
        if not any(equal(value, other) for other in made):
            made.append(value)
    return made


def _range(length: int) -> list[int]:
    if length > _LONGEST_RANGE:
        raise CostExceeded("operation cancelled: actual cost limit exceeded")
    return list(range(length))


def _reverse(values: Any) -> Any:
    if not isinstance(values, list):
        raise no_overload()
    return list(reversed(values))


def _contains(one: list[Any], other: list[Any]) -> bool:
    return all(any(equal(element, each) for each in one) for element in other)


def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(equal(element, each) for element in one for each in other)


IMPLEMENTATIONS: Final[dict[str, Callable[..., Any]]] = {
    "isSorted": _is_sorted,
    "sum": _sum,
    "max": _extreme("max", -1),
    "min": _extreme("min", 1),
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "slice": _slice,
    "flatten": _flatten,
    "sort": lambda values: _sort_by(values, values),
    "@sortByAssociatedKeys": _sort_by,
    "lists.range": _range,
    "reverse": _reverse,
    "distinct": _distinct,
    "sets.contains": _contains,
    "sets.equivalent": lambda one, other: _contains(one, other) and _contains(other, one),
    "sets.intersects": _intersects,
}
