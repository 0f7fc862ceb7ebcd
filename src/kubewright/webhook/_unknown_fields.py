"""Preserves fields that the model does not know in a converted object.

A program may be older than the CustomResourceDefinition and see objects with fields that its model lacks. An unknown
field is copied to the same path of the converted object, if that object has no such field and its model knows none.
Items of lists keep their unknown fields if a key identifies the items in both lists.
"""

from __future__ import annotations

from typing import Any

from kubewright.api import Object
from kubewright.diff import ListKeys, identities

__all__ = ["preserve_unknown_fields"]

_COMMON_KEYS = (("name",), ("id",), ("key",), ("type",))
_STANDARD_FIELDS = frozenset(["apiVersion", "kind", "metadata"])


def preserve_unknown_fields(source: type[Object], target: type[Object], raw: Any, known: Any, made: Any) -> None:
    """Copies fields to `made` that are in `raw`, the source as read, but not in `known`, the source as its model."""
    for name, value in raw.items():
        if name not in _STANDARD_FIELDS:
            _copy_member(ListKeys(source), ListKeys(target), name, value, known, made)


def _copy(here: ListKeys, there: ListKeys, raw: Any, known: Any, made: Any) -> None:
    if isinstance(raw, dict) and isinstance(known, dict) and isinstance(made, dict):
        for name, value in raw.items():
            _copy_member(here, there, name, value, known, made)
    elif isinstance(raw, list) and isinstance(known, list) and isinstance(made, list) and len(raw) == len(known):
        for names in (here.here(), *_COMMON_KEYS):
            ours, theirs = identities(names, known), identities(names, made)
            if ours is not None and theirs is not None:
                index_of = {identity: index for index, identity in enumerate(theirs)}
                for index, identity in enumerate(ours):
                    if identity in index_of:
                        _copy(here.element(), there.element(), raw[index], known[index], made[index_of[identity]])
                return


def _copy_member(here: ListKeys, there: ListKeys, name: str, value: Any, known: Any, made: Any) -> None:
    if name in known:
        if name in made:
            _copy(here.member(name), there.member(name), value, known[name], made[name])
    elif name not in made and not here.knows(name) and not there.knows(name):
        made[name] = value
