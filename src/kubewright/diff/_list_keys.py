"""The keys of list elements, by the position of the list in a model."""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from kubewright.api import Model
from kubewright.api.schema import declared_keys, fields_of, is_pydantic, list_keys_of, members_of

__all__ = ["ListKeys"]


class ListKeys:
    """A position in a typed object. The comparison walks down by member and element.

    The keys come from the class that contains the list, by their JSON names: `Annotated[list[Port], ListType("map",
    keys=["name"])]`, or in generated classes `__list_keys__ = {"containers": ("name",)}`.
    """

    __slots__ = ("_keys", "_type")

    def __init__(self, type_: Any, keys: tuple[str, ...] | None = None) -> None:
        self._type = type_
        self._keys = keys

    def here(self) -> tuple[str, ...]:
        """Returns the keys of the list at this position; empty if it has none."""
        return self._keys or ()

    def is_set(self) -> bool:
        """Whether the list at this position is a set: it is declared without keys, and its elements are unique."""
        return self._keys == ()

    def member(self, name: str) -> ListKeys:
        """Returns the position of one member of the object at this position."""
        known, other = _members(self._type)
        return known.get(name, other)

    def knows(self, name: str) -> bool:
        """Whether the type at this position has such a member. A map has any member."""
        known, _ = _members(self._type)
        return name in known or get_origin(_without_none(self._type)) is dict

    def element(self) -> ListKeys:
        """Returns the position of any element of the list at this position."""
        return _element(self._type)


_NOWHERE = ListKeys(None)


@cache  # keyed by type: it grows with the number of models, not of objects
def _members(type_: Any) -> tuple[dict[str, ListKeys], ListKeys]:
    """Returns the positions of the members that a type declares, and the position of any other member."""
    plain = _without_none(type_)
    if isinstance(plain, type) and issubclass(plain, Model):
        keys = list_keys_of(plain)
        types = {field.encode_name: field.type for field in fields_of(plain)}
        return {name: ListKeys(member, keys.get(name)) for name, member in types.items()}, _NOWHERE
    if is_pydantic(plain):
        return {name: ListKeys(member, declared_keys(member)) for name, member in members_of(plain).items()}, _NOWHERE
    return {}, ListKeys(get_args(plain)[1]) if get_origin(plain) is dict else _NOWHERE


@cache
def _element(type_: Any) -> ListKeys:
    plain = _without_none(type_)
    return ListKeys(get_args(plain)[0]) if get_origin(plain) is list else _NOWHERE


def _without_none(type_: Any) -> Any:
    if get_origin(type_) is Annotated:
        return _without_none(get_args(type_)[0])
    if get_origin(type_) in (Union, UnionType):
        others = [argument for argument in get_args(type_) if argument is not NoneType]
        return _without_none(others[0]) if len(others) == 1 else None
    return type_
