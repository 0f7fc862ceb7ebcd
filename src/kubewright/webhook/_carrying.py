"""Fields that the model does not know, carried over into the converted object.

A program may be older than the definition, and see objects with fields that it has never heard of. What stands beside
known fields goes along with them: at the same place of the converted object, where that has nothing there and its model
knows no field of that name. Elements of lists keep theirs when a key tells them apart in both.
"""

from __future__ import annotations

from typing import Any

from kubewright.api import Object
from kubewright.diff import ListKeys, identities

__all__ = ["carry_unknown"]

_USUAL_KEYS = (("name",), ("id",), ("key",), ("type",))
_OF_EVERY_OBJECT = frozenset(["apiVersion", "kind", "metadata"])


def carry_unknown(source: type[Object], target: type[Object], raw: Any, known: Any, made: Any) -> None:
    """Add to `made` what is in `raw` and not in `known`: what was read, and what the source's model made of it."""
    for name, value in raw.items():
        if name not in _OF_EVERY_OBJECT:
            _carry_member(ListKeys(source), ListKeys(target), name, value, known, made)


def _carry(here: ListKeys, there: ListKeys, raw: Any, known: Any, made: Any) -> None:
    if isinstance(raw, dict) and isinstance(known, dict) and isinstance(made, dict):
        for name, value in raw.items():
            _carry_member(here, there, name, value, known, made)
    elif isinstance(raw, list) and isinstance(known, list) and isinstance(made, list) and len(raw) == len(known):
        for names in (here.here(), *_USUAL_KEYS):
            ours, theirs = identities(names, known), identities(names, made)
            if ours is not None and theirs is not None:
                place = {identity: index for index, identity in enumerate(theirs)}
                for index, identity in enumerate(ours):
                    if identity in place:
                        _carry(here.element(), there.element(), raw[index], known[index], made[place[identity]])
                return


def _carry_member(here: ListKeys, there: ListKeys, name: str, value: Any, known: Any, made: Any) -> None:
    if name in known:
        if name in made:
            _carry(here.member(name), there.member(name), value, known[name], made[name])
    elif name not in made and not here.knows(name) and not there.knows(name):
        made[name] = value
