"""Masks: fields that differ between undisturbed runs, and so say nothing about a fault."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kubewright.counts import counted
from kubewright.explore.model._outcomes import Key, World
from kubewright.explore.worlds._canonical import UID, Canonical, decoded
from kubewright.operator.definition import Exemption

__all__ = ["Masks", "TooManyMasks", "learn", "learn_identifiers", "pointer"]

_MAX_NODES: Final = 60
_ANY: Final = "*"
_APART: Final = 30.0
"""Seconds between two states that may matter if an operator acts at a certain time."""


class TooManyMasks(Exception):
    """Undisturbed runs differ in so many fields that a comparison shows nothing."""


def pointer(path: Sequence[str | int]) -> str:
    """Returns a path as a JSON pointer."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


@dataclass(frozen=True)
class Masks:
    """Leaf fields by resource. An index of a list matches every index."""

    leaves: frozenset[tuple[str, tuple[str, ...]]] = frozenset()
    names: dict[str, str] = field(default_factory=dict)
    """Prefixes of generated names, by resource."""
    objects: frozenset[Key] = frozenset()
    """Objects that exist only in some undisturbed runs."""
    exempt: tuple[Exemption, ...] = ()
    """Fields and kinds that the user exempts."""
    timed: frozenset[str] = frozenset()
    """Resources that the operator creates on a schedule: how many there are depends on the time."""
    ages: tuple[float, ...] = ()
    """Seconds since the creation of the subject after which the operator acts, although nothing has changed."""

    def ages_apart(self, one: float, other: float) -> bool:
        """Returns whether the operator may have acted because of the time at one of two ages, and not at the other."""
        return abs(one - other) >= _APART and any(age <= max(one, other) for age in self.ages)

    def timeless(self, resource: str) -> Masks:
        """Returns masks that also hide the objects that are created on a schedule, and the status of their owner.

        Args:
            resource: the resource of the owner.
        """
        if not self.timed:
            return self
        hidden = [(each, ()) for each in sorted(self.timed)] + [(resource, ("status",))]
        more = tuple(Exemption(each, path, "depends on the time") for each, path in hidden)
        return replace(self, exempt=(*self.exempt, *more))

    def hides(self, key: Key, path: Sequence[str | int]) -> bool:
        """Returns whether a field is masked or exempt."""
        if bool(self.leaves) and (key[0], _general(path)) in self.leaves:
            return True
        return self.exempts(key, path)

    def exempts(self, key: Key, path: Sequence[str | int]) -> bool:
        """Returns whether the user exempts a field."""
        return any(each.concerns(key[0], key[2]) and _starts_with(path, each.path) for each in self.exempt)

    def hides_object(self, key: Key) -> bool:
        """Returns whether an object is masked or exempt."""
        return key in self.objects or any(each.concerns(key[0], key[2]) and not each.path for each in self.exempt)

    def lines(self) -> list[str]:
        """Returns the masks for a report."""
        found = [f"{resource} {pointer(path)}" for resource, path in sorted(self.leaves)]
        found += [f"{resource} names that start with {prefix}" for resource, prefix in sorted(self.names.items())]
        found += [f"{' '.join(key)}" for key in sorted(self.objects)]
        found += [f"the number of {resource}, after a long fault or a change" for resource in sorted(self.timed)]
        return found + [f"{each} (exempt)" for each in self.exempt]

    def merged(self, other: Masks) -> Masks:
        """Returns the masks of both."""
        exempt = (*self.exempt, *(each for each in other.exempt if each not in self.exempt))
        names = {**self.names, **other.names}
        objects, ages = self.objects | other.objects, tuple(sorted({*self.ages, *other.ages}))
        return Masks(self.leaves | other.leaves, names, objects, exempt, self.timed | other.timed, ages)


def learn(worlds: Sequence[Canonical]) -> Masks:
    """Returns masks for the leaf fields in which worlds of the same story differ.

    Raises `TooManyMasks` if there are more than a correct operator has.
    """
    if not worlds:
        return Masks()
    names = _generated_names(worlds)
    leaves: set[tuple[str, tuple[str, ...]]] = set()
    first = worlds[0]
    everywhere = set(first).intersection(*worlds)
    anywhere = set(first).union(*worlds)
    for key in everywhere:
        for other in worlds[1:]:
            for path in _differing((), first[key], other[key]):
                leaves.add((key[0], _general(path)))
    objects = {key for key in anywhere - everywhere if key[0] not in names}
    if len(leaves) + len(objects) > _MAX_NODES:
        raise TooManyMasks(
            f"undisturbed runs differ in {counted(len(leaves), 'field')} and {counted(len(objects), 'object')}: make"
            " the operator deterministic, for instance with ctx.clock instead of the machine's time"
        )
    return Masks(frozenset(leaves), names, frozenset(objects))


def learn_identifiers(worlds: Sequence[World]) -> Masks:
    """Returns masks for UUIDs that an operator generates. They are never compared, but may be generated again.

    Args:
        worlds: the objects at the same checkpoint of undisturbed runs, as they are stored.
    """
    found: list[dict[tuple[Key, tuple[str, ...]], str]] = []
    for world in worlds:
        uids = {obj["metadata"].get("uid") for obj in world.values()}
        values = {(key, path): held for key, obj in world.items() for path, held in _identifiers((), obj)}
        found.append({place: held for place, held in values.items() if held not in uids})
    first, *others = found
    unlike = [place for place in first if all(first[place] != other.get(place, first[place]) for other in others)]
    return Masks(frozenset((key[0], path) for key, path in unlike if path[0] not in ("metadata", "status")))


def _identifiers(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields the strings in an object that contain a UUID, with the UUID."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _identifiers((*path, name), inner)
    elif isinstance(value, str) and (found := UID.search(decoded(value) or value)):
        yield path, found[0]


def _generated_names(worlds: Sequence[Canonical]) -> dict[str, str]:
    """Returns the common prefix of names that are different in every world, by resource."""
    everywhere = set(worlds[0]).intersection(*worlds)
    odd: dict[str, list[set[str]]] = defaultdict(list)
    for world in worlds:
        by_resource: dict[str, set[str]] = defaultdict(set)
        for key in world:
            if key not in everywhere:
                by_resource[key[0]].add(key[2])
        for resource, names in by_resource.items():
            odd[resource].append(names)
    found = {}
    for resource, groups in odd.items():
        if len(groups) == len(worlds) and len({len(group) for group in groups}) == 1:
            found[resource] = _common_start(sorted(set().union(*groups)))
    return found


def _common_start(names: Sequence[str]) -> str:
    first, last = names[0], names[-1]  # sorted: the others are between them
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(pair[0] for pair in same)


def _starts_with(path: Sequence[str | int], begin: Sequence[str]) -> bool:
    """Returns whether a path is a field or inside of it."""
    return len(path) >= len(begin) and all(
        wanted in (_ANY, str(part)) for part, wanted in zip(path, begin, strict=False)
    )


def _general(path: Sequence[str | int]) -> tuple[str, ...]:
    return tuple(_ANY if isinstance(part, int) else part for part in path)


def _differing(path: tuple[str | int, ...], one: Any, other: Any) -> list[tuple[str | int, ...]]:
    """Returns the paths of leaves that differ."""
    if one == other:
        return []
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for name in {**one, **other}:
            place = (*path, name)
            if name in one and name in other:
                found += _differing(place, one[name], other[name])
            else:
                found.append(place)
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            place
            for index, (old, new) in enumerate(zip(one, other, strict=True))
            for place in _differing((*path, index), old, new)
        ]
    return [path]
