"""`merge`: combines two concurrent edits of one object, and reports conflicts."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from kubewright.api.wire import identical_json
from kubewright.console.forms._fields import Field
from kubewright.console.forms._paths import MISSING, Path
from kubewright.diff import identities

__all__ = ["MergeConflict", "MergeResult", "changed_paths", "merge"]


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A path that both edits changed to different values. `MISSING` stands for removed."""

    path: Path
    mine: Any = field(repr=False)
    theirs: Any = field(repr=False)


@dataclass(slots=True)
class MergeResult:
    """The merged object. For a conflict it contains my value."""

    value: Any = field(repr=False)
    conflicts: list[MergeConflict] = field(default_factory=list)


def merge(base: Any, mine: Any, theirs: Any, form: Field | None = None) -> MergeResult:
    """Applies the changes of `mine` and `theirs` to `base`, by field, and by element for lists with keys.

    Any other list counts as one value, so two changes of it conflict.
    """
    merged = MergeResult(None)
    merged.value = _merge(base, mine, theirs, form, (), merged.conflicts)
    return merged


def _merge(base: Any, mine: Any, theirs: Any, form: Field | None, path: Path, conflicts: list[MergeConflict]) -> Any:
    if _same(mine, theirs) or _same(base, theirs):
        return copy.deepcopy(mine)
    if _same(base, mine):
        return copy.deepcopy(theirs)
    if isinstance(mine, dict) and isinstance(theirs, dict):
        start = base if isinstance(base, dict) else {}
        return _members(start, mine, theirs, form, path, conflicts)
    if isinstance(mine, list) and isinstance(theirs, list) and isinstance(base, list) and form is not None:
        keys = form.map_keys
        if keys and (named := [_named(keys, elements) for elements in (base, mine, theirs)]) and None not in named:
            return _elements(keys, named, form, path, conflicts)
    conflicts.append(MergeConflict(path, mine, theirs))
    return copy.deepcopy(mine)


def _members(
    base: dict[str, Any],
    mine: dict[str, Any],
    theirs: dict[str, Any],
    form: Field | None,
    path: Path,
    conflicts: list[MergeConflict],
) -> dict[str, Any]:
    made = {}
    for name in [*theirs, *(name for name in mine if name not in theirs)]:
        below = form.below(name) if form is not None else None
        three = (base.get(name, MISSING), mine.get(name, MISSING), theirs.get(name, MISSING))
        value = _merge(*three, below, (*path, name), conflicts)
        if value is not MISSING:
            made[name] = value
    return made


def _elements(
    keys: tuple[str, ...], named: list[Any], form: Field, path: Path, conflicts: list[MergeConflict]
) -> list[Any]:
    base, mine, theirs = named
    order = [*theirs, *(name for name in mine if name not in theirs)]
    made = _merge_named(base, mine, theirs, order, form.element, path, conflicts)
    return [value for value in made if value is not MISSING]


def _merge_named(
    base: dict[Any, Any],
    mine: dict[Any, Any],
    theirs: dict[Any, Any],
    order: list[Any],
    element: Field,
    path: Path,
    conflicts: list[MergeConflict],
) -> list[Any]:
    made = []
    for place, name in enumerate(order):
        three = (base.get(name, MISSING), mine.get(name, MISSING), theirs.get(name, MISSING))
        made.append(_merge(*three, element, (*path, place), conflicts))
    return made


def _named(keys: tuple[str, ...], elements: list[Any]) -> dict[Any, Any] | None:
    names = identities(keys, elements)
    return None if names is None else dict(zip(names, elements, strict=True))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON, or both missing."""
    if one is MISSING or other is MISSING:
        return one is other
    return identical_json(one, other)


def changed_paths(before: Any, after: Any, path: Path = (), form: Field | None = None) -> list[Path]:
    """Returns the paths at which two values differ, as deep as both have the same structure.

    List elements are matched by their keys or as members of a set if the form says so. The index of an element is its
    old one; new elements follow.
    """
    if _same(before, after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        names = [*before, *(name for name in after if name not in before)]
        return [
            found
            for name in names
            for found in changed_paths(
                before.get(name, MISSING), after.get(name, MISSING), (*path, name), form.below(name) if form else None
            )
        ]
    if isinstance(before, list) and isinstance(after, list):
        return _changed_elements(before, after, path, form)
    return [path]


def _changed_elements(before: list[Any], after: list[Any], path: Path, form: Field | None) -> list[Path]:
    element = form.element if form is not None and form.shape == "list" else None
    if form is not None and (old := _by_identity(form, before)) is not None:
        new = _by_identity(form, after)
        if new is not None:
            order = [*old, *(name for name in new if name not in old)]
            pairs = [(old.get(name, MISSING), new.get(name, MISSING)) for name in order]
            changed = [
                found
                for index, (one, other) in enumerate(pairs)
                for found in changed_paths(one, other, (*path, index), element)
            ]
            return changed or [path]  # only the order changed
    if len(before) != len(after):
        return [path]
    return [
        found
        for index, (one, other) in enumerate(zip(before, after, strict=True))
        for found in changed_paths(one, other, (*path, index), element)
    ]


def _by_identity(form: Field, elements: list[Any]) -> dict[Any, Any] | None:
    """Returns elements by identity; None if the list defines no identity."""
    if form.map_keys:
        return _named(form.map_keys, elements)
    if form.schema.get("x-kubernetes-list-type") == "set" and all(isinstance(one, str | int) for one in elements):
        return {(type(one), one): one for one in elements}
    return None
