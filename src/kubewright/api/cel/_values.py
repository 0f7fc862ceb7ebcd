"""The values of CEL in Python.

Booleans, integers, doubles, strings, bytes, null, lists and maps are Python's own. This module has the types that
Python lacks: unsigned integers, times in nanoseconds, optional values, and the objects and lists of a schema, which
compare by the rules of Kubernetes. All failures are `EvaluationError`s, with the messages of the API server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kubewright.api.cel import _types as types
from kubewright.api.cel._types import Type

__all__ = [
    "NONE",
    "CostExceeded",
    "Duration",
    "EvaluationError",
    "Keyed",
    "Opaque",
    "Optional",
    "Struct",
    "Timestamp",
    "Uint",
    "Unordered",
    "compare",
    "equal",
    "lookup",
    "no_overload",
    "size_of",
    "type_of_value",
]

_INT64: Final = 2**63


class EvaluationError(Exception):
    """An expression has no value: `no such key: x`, `division by zero`."""

    cost = 0
    """The cost of the evaluation so far."""


class CostExceeded(Exception):
    """An expression exceeded its cost limit."""


def no_overload() -> EvaluationError:
    """Returns the error for operands whose types fit no overload."""
    return EvaluationError("no such overload")


class Uint(int):
    """An unsigned number of 64 bits."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time, in nanoseconds."""

    nanoseconds: int

    def __post_init__(self) -> None:
        if not -_INT64 <= self.nanoseconds < _INT64:
            raise EvaluationError("duration overflow")


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970."""

    nanoseconds: int

    def __post_init__(self) -> None:
        if not _FIRST_MOMENT <= self.nanoseconds <= _LAST_MOMENT:
            raise EvaluationError("timestamp overflow")


_FIRST_MOMENT: Final = -62135596800 * 10**9
_LAST_MOMENT: Final = 253402300799 * 10**9 + 999_999_999


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    value: Any = None
    is_there: bool = True

    def get(self) -> Any:
        """Returns the value. Raises `EvaluationError` if it is absent."""
        if not self.is_there:
            raise EvaluationError("optional.none() dereference")
        return self.value


NONE: Final = Optional(is_there=False)


class Opaque:
    """A value of one of Kubernetes' own types: the base class."""

    cel_type: Type
    __slots__ = ()


class Struct:
    """An object with the fields of a schema, by the names that expressions use. Values are converted on access."""

    __slots__ = ("_convert", "_made", "_raw", "type")

    def __init__(self, raw: dict[str, Any], convert: Callable[[str, Any], Any], type_: Type) -> None:
        self._raw = raw
        self._convert = convert
        self._made: dict[str, Any] = {}
        self.type = type_

    def __contains__(self, field: str) -> bool:
        return field in self._raw

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __getitem__(self, field: str) -> Any:
        if field not in self._made:
            if field not in self._raw:
                raise EvaluationError(f"no such key: {field}")
            self._made[field] = self._convert(field, self._raw[field])
        return self._made[field]


class Unordered(list[Any]):
    """A list whose elements have no order: `x-kubernetes-list-type: set`."""

    def __add__(self, others: Iterable[Any]) -> Unordered:
        made = Unordered(self)
        for other in others:
            if not any(equal(one, other) for one in made):
                made.append(other)
        return made


class Keyed(list[Any]):
    """A list whose elements have keys: `x-kubernetes-list-type: map`."""

    def __init__(self, elements: Iterable[Any], keys: tuple[str, ...]) -> None:
        super().__init__(elements)
        self.keys = keys

    def identity(self, element: Any) -> tuple[Any, ...]:
        """Returns the values of the keys of an element."""
        return tuple(element[key] if isinstance(element, Struct) and key in element else None for key in self.keys)

    def __add__(self, others: Iterable[Any]) -> Keyed:
        made = {self.identity(element): element for element in self}
        made.update({self.identity(element): element for element in others})
        return Keyed(made.values(), self.keys)


# Operations on all values


def type_of_value(value: Any) -> Type:
    """Returns the type of a value, as `type()` does."""
    match value:
        case None:
            return types.NULL
        case bool():
            return types.BOOL
        case Uint():
            return types.UINT
        case int():
            return types.INT
        case float():
            return types.DOUBLE
        case str():
            return types.STRING
        case bytes():
            return types.BYTES
        case list():
            return types.ANY_LIST
        case dict():
            return types.map_of(types.DYN, types.DYN)
        case Duration():
            return types.DURATION
        case Timestamp():
            return types.TIMESTAMP
        case Optional():
            return types.optional_of(types.DYN)
        case Type():
            return types.type_of(types.DYN)
        case Struct():
            return value.type
        case Opaque():
            return value.cel_type
        case _:
            raise EvaluationError(f"unsupported conversion to ref.Val: ({type(value).__name__})")


def size_of(value: Any) -> int:
    """Returns the size of a value for its costs: its `size()`, or 1."""
    if isinstance(value, Optional) and value.is_there:
        return size_of(value.value)
    return len(value) if isinstance(value, str | bytes | list | dict | Struct) else 1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(one: Any, other: Any) -> bool:
    """Whether two values are equal. Numbers compare by value; other types are never equal to each other."""
    if _is_number(one) and _is_number(other):
        return bool(one == other)
    if isinstance(one, list) and isinstance(other, list):
        return _equal_lists(one, other)
    if isinstance(one, Struct | dict) and isinstance(other, Struct | dict):
        return len(one) == len(other) and all(key in other and equal(one[key], other[key]) for key in one)
    if isinstance(one, Optional) and isinstance(other, Optional):
        return one.is_there is other.is_there and equal(one.value, other.value)
    if type(one) is not type(other):
        return False
    return bool(one == other)


def _equal_lists(one: list[Any], other: list[Any]) -> bool:
    if len(one) != len(other):
        return False
    if isinstance(one, Unordered):
        if all(isinstance(element, str) for element in (*one, *other)):
            return set(one) == set(other)
        return all(any(equal(element, each) for each in other) for element in one)
    if isinstance(one, Keyed):
        by_key = {one.identity(element): element for element in other}
        return all(one.identity(element) in by_key and equal(element, by_key[one.identity(element)]) for element in one)
    return all(map(equal, one, other))


def compare(one: Any, other: Any) -> int:
    """Returns -1, 0 or 1. Raises for values that have no order."""
    if one.__class__ is int and other.__class__ is int:
        return int(one > other) - int(one < other)
    if _is_number(one) and _is_number(other):
        if math.isnan(one) or math.isnan(other):
            raise EvaluationError("NaN values cannot be ordered")
    elif type(one) is not type(other) or not isinstance(one, bool | str | bytes | Timestamp | Duration):
        raise no_overload()
    if isinstance(one, str):
        one, other = one.encode(), other.encode()
    return int(one > other) - int(one < other)


def lookup(container: Any, key: Any) -> Any:
    """Returns `container[key]`."""
    if isinstance(container, Optional):
        return _optional_lookup(container, key)
    if isinstance(container, list):
        if isinstance(key, float) and key.is_integer():
            key = int(key)
        if isinstance(key, bool) or not isinstance(key, int):
            raise EvaluationError(f"unsupported index type '{type_of_value(key)}' in list")
        if not 0 <= key < len(container):
            raise EvaluationError(f"index out of bounds: {key}")
        return container[key]
    if isinstance(container, dict | Struct):
        if isinstance(key, list | dict | Struct) or (isinstance(container, Struct) and not isinstance(key, str)):
            raise no_overload()
        if _is_number(key) and key not in container:
            key = next((each for each in container if equal(each, key)), key)
        if key not in container:
            raise EvaluationError(f"no such key: {key}")
        return container[key]
    raise EvaluationError(f"no such key: {key}")


def _optional_lookup(container: Optional, key: Any) -> Optional:
    """Returns the optional value of an optional."""
    if not container.is_there:
        return NONE
    try:
        return Optional(lookup(container.value, key))
    except EvaluationError as error:
        if str(error).startswith(("no such key", "index out of bounds")):
            return NONE
        raise
