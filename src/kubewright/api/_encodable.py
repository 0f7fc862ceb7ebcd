"""Values that JSON or Kubernetes cannot store, found before msgspec encodes them as something else.

msgspec writes `float("nan")` as null, and a datetime without a time zone as a string that the API server rejects.
`not_encodable` finds both with the path of their field. It skips fields whose types cannot hold such a value: the
metadata of an object costs a few microseconds, a spec of strings and whole numbers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin
from uuid import UUID

import msgspec

from kubewright.api._model import fields_of
from kubewright.api._pydantic import is_pydantic
from kubewright.api._quantity import Quantity
from kubewright.api._time import NO_TIME_ZONE
from kubewright.api._violation import Violation

__all__ = ["not_encodable", "path_of_foreign"]

_HARMLESS: Final = (str, int, bool, bytes, bytearray, memoryview, Quantity, NoneType, msgspec.Raw, UUID, Enum)
_HARMLESS_EXACTLY: Final = frozenset({*_HARMLESS, date, msgspec.UnsetType})
_CONTAINERS: Final = (list, dict, tuple, set, frozenset, Union, UnionType)


def not_encodable(value: object) -> list[Violation]:
    """Returns every float that is not finite and every datetime without a time zone, with the path of its field."""
    found: list[Violation] = []
    _look(value, "", found)
    return found


def _look(value: Any, path: str, found: list[Violation]) -> None:
    kind: Any = type(value)
    if kind in _HARMLESS_EXACTLY:
        return
    if kind is float:
        if not math.isfinite(value):
            found.append(Violation(path, f"must be a finite number, not {value}: JSON has no NaN and no infinity"))
    elif isinstance(value, datetime):
        if value.utcoffset() is None:
            found.append(Violation(path, f"{value.isoformat()} {NO_TIME_ZONE}"))
    elif isinstance(value, msgspec.Struct):
        for attribute, wire in _fields_to_look_at(kind):
            _look(getattr(value, attribute, None), f"{path}.{wire}" if path else wire, found)
    elif isinstance(value, dict):
        for name, member in value.items():
            _look(member, f"{path}.{name}" if path else str(name), found)
    elif isinstance(value, list | tuple | set | frozenset):
        for number, element in enumerate(value):
            _look(element, f"{path}[{number}]", found)
    elif is_pydantic(kind):
        _look(value.model_dump(mode="python", by_alias=True), path, found)


def path_of_foreign(value: Any, encode: Callable[[Any], bytes]) -> str:
    """Returns the path of the first value in an object that cannot be encoded, found by trying each part."""
    path = ""
    while True:
        for step, member in _members(value):
            try:
                encode(member)
            except NotImplementedError:
                path, value = f"{path}{step}", member
                break
        else:
            return path.removeprefix(".")


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        yield from ((f".{wire}", getattr(value, name, None)) for name, wire in names)
    elif isinstance(value, dict):
        yield from ((f".{name}", member) for name, member in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{number}]", element) for number, element in enumerate(value))


@cache  # grows with the models that are used, not with the objects
def _fields_to_look_at(model: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """Returns the attributes that may hold a value that cannot be encoded, with their JSON names."""
    names = zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True)
    try:
        types = [field.type for field in fields_of(model)]
    except NameError:  # an annotation names a class that only type checkers import
        return tuple(names)
    return tuple(name for name, hint in zip(names, types, strict=True) if _may_hold(hint, set()))


def _may_hold(hint: Any, seen: set[Any]) -> bool:
    """Whether a value of this type may be, or contain, a float or a datetime. True for unknown types."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _may_hold(get_args(hint)[0], seen)
    if origin is Literal or hint in _HARMLESS_EXACTLY:
        return False
    if origin in _CONTAINERS:
        return any(_may_hold(argument, seen) for argument in get_args(hint))
    if not isinstance(hint, type):
        return True
    if not issubclass(hint, msgspec.Struct):
        return not issubclass(hint, _HARMLESS)
    if hint in seen:  # its fields are checked where it was seen first
        return False
    seen.add(hint)
    try:
        return any(_may_hold(field.type, seen) for field in fields_of(hint))
    except NameError:
        return True
