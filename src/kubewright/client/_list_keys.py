"""Which keys tell the elements of a list apart, by the place of the list in a model."""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from kubewright.api import Model

__all__ = ["ListKeys"]


class ListKeys:
    """A place in a typed object. Walks down by member and element as the comparison does.

    The keys come from the class that holds the list: `__list_keys__ = {"containers": ("name",)}`, by names on the wire.
    """

    __slots__ = ("_keys", "_type")

    def __init__(self, type_: Any, keys: tuple[str, ...] | None = None) -> None:
        self._type = type_
        self._keys = keys

    def here(self) -> tuple[str, ...]:
        """The keys of the list at this place; empty when it has none."""
        return self._keys or ()

    def is_set(self) -> bool:
        """Whether the list at this place is a set: declared with no keys, its elements are told apart by themselves."""
        return self._keys == ()

    def member(self, name: str) -> ListKeys:
        """The place of one member of the object at this place."""
        type_ = _without_none(self._type)
        if isinstance(type_, type) and issubclass(type_, Model):
            return ListKeys(_member_types(type_).get(name), getattr(type_, "__list_keys__", {}).get(name))
        return ListKeys(get_args(type_)[1]) if get_origin(type_) is dict else ListKeys(None)

    def element(self) -> ListKeys:
        """The place of any element of the list at this place."""
        type_ = _without_none(self._type)
        return ListKeys(get_args(type_)[0]) if get_origin(type_) is list else ListKeys(None)


@cache
def _member_types(model: Any) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(model)}


def _without_none(type_: Any) -> Any:
    if get_origin(type_) is Annotated:
        return _without_none(get_args(type_)[0])
    if get_origin(type_) in (Union, UnionType):
        others = [argument for argument in get_args(type_) if argument is not NoneType]
        return _without_none(others[0]) if len(others) == 1 else None
    return type_
