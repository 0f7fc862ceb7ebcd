"""Field sets as trees of plain dicts, in the form of managedFields.

`{"f:spec": {"f:replicas": {}}}` is the set of one field, `.spec.replicas`. An empty dict is a member of the set. A dict
with path elements contains further fields; with `.` it is also a member itself. Trees are immutable, so subtrees are
shared.

These functions are performance-critical and work on the trees directly; `FieldSet` wraps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from kubewright.cluster.merge._elements import normal_step, sort_key
from kubewright.cluster.schema import Schema

__all__ = [
    "EMPTY",
    "LEAF",
    "SELF",
    "Tree",
    "difference",
    "has",
    "intersection",
    "named_fields",
    "ordered",
    "parse",
    "paths",
    "recursive_difference",
    "tree_of",
    "union",
]

Tree: TypeAlias = Mapping[str, Any]

LEAF: Final[dict[str, Any]] = {}
EMPTY: Final[Tree] = {}
SELF: Final = "."


def union(one: Tree, other: Tree) -> Tree:
    """Returns the fields that are in either set."""
    if not other or one is other:
        return one
    if not one:
        return other
    result = dict(one)
    for step, theirs in other.items():
        ours = result.get(step)
        if ours is None:
            result[step] = theirs
        elif ours is not theirs:
            result[step] = _join(ours, theirs)
    return result


def _join(one: Tree, other: Tree) -> Tree:
    if not one:
        return other if not other or SELF in other else {SELF: LEAF, **other}
    if not other:
        return one if SELF in one else {SELF: LEAF, **one}
    return union(one, other)


def intersection(one: Tree, other: Tree) -> Tree:
    """Returns the fields that are in both sets."""
    result: dict[str, Any] = {}
    for step, ours in one.items():
        theirs = other.get(step)
        if theirs is None:
            continue
        if not ours or not theirs:
            if (not ours or SELF in ours) and (not theirs or SELF in theirs):
                result[step] = LEAF
            continue
        both = intersection(ours, theirs)
        if both:
            result[step] = LEAF if both.keys() == _ONLY_SELF else both
    return result


_ONLY_SELF: Final = {SELF: LEAF}.keys()


def difference(one: Tree, other: Tree) -> Tree:
    """Returns the fields of the first set that are not in the second. Fields below a removed one stay."""
    if not one or not other:
        return one
    result: dict[str, Any] = {}
    for step, ours in one.items():
        theirs = other.get(step)
        if theirs is None:
            result[step] = ours
        elif not ours:
            if theirs and SELF not in theirs:
                result[step] = LEAF
        else:
            left = _without_self(ours) if not theirs else difference(ours, theirs)
            if left:
                result[step] = LEAF if left.keys() == _ONLY_SELF else left
    return result


def _without_self(tree: Tree) -> Tree:
    return {step: below for step, below in tree.items() if step != SELF} if SELF in tree else tree


def recursive_difference(one: Tree, other: Tree) -> Tree:
    """Like `difference`, but removes everything below a field, too."""
    if not one or not other:
        return one
    result: dict[str, Any] = {}
    for step, ours in one.items():
        theirs = other.get(step)
        if theirs is None:
            result[step] = ours
        elif not theirs or SELF in theirs:
            continue
        elif not ours:
            result[step] = LEAF
        else:
            left = recursive_difference(ours, theirs)
            if left:
                result[step] = LEAF if left.keys() == _ONLY_SELF else left
    return result


def has(tree: Tree, *steps: str) -> bool:
    """Returns whether the set contains the field at that path."""
    for step in steps:
        below = tree.get(step)
        if below is None:
            return False
        tree = below
    return bool(steps) and (not tree or SELF in tree)


def paths(tree: Tree, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields every field in the server's order: the fields of a level first, then those below each."""
    steps = sorted((step for step in tree if step != SELF), key=sort_key)
    for step in steps:
        below = tree[step]
        if not below or SELF in below:
            yield (*prefix, step)
    for step in steps:
        yield from paths(tree[step], (*prefix, step))


def tree_of(*fields: tuple[str, ...]) -> Tree:
    """Returns the set of these fields, each given by its path elements."""
    result: Tree = EMPTY
    for steps in fields:
        tree: Tree = LEAF
        for step in reversed(steps):
            tree = {step: tree}
        result = union(result, tree)
    return result


def named_fields(tree: Tree, schema: Schema | None) -> Tree:
    """Returns the set, plus the struct fields that only have members below them."""
    result: dict[str, Any] = {}
    for step, below in tree.items():
        if not below:
            result[step] = below
            continue
        inner, named = None, False
        if schema is not None:
            if step[0] == "f" and schema.is_map:
                inner = schema.fields[step[2:]]
                named = inner is not None
                inner = inner or schema.element
            elif step[0] == "k" and schema.is_list:
                inner = schema.items
        extended = named_fields(below, inner)
        result[step] = {SELF: LEAF, **extended} if named and SELF not in extended else extended
    return result


def ordered(tree: Tree) -> dict[str, Any]:
    """Returns the same set with the path elements in the server's order."""
    steps = sorted(tree)
    if steps and steps[-1][0] in "ikv":  # these sort by value, not by spelling
        steps.sort(key=sort_key)
    return {step: ordered(tree[step]) if tree[step] else LEAF for step in steps}


def parse(fields: Any) -> Tree:
    """Parses a FieldsV1. Raises ValueError."""
    if not isinstance(fields, dict):
        raise ValueError(f"fields are an object, not {fields!r}")
    result: dict[str, Any] = {}
    for step, below in fields.items():
        if step == SELF:
            result[SELF] = LEAF
            continue
        normal = step if step[:2] == "f:" else normal_step(step)
        if normal is None:
            continue
        parsed = parse(below) if below else LEAF
        result[normal] = LEAF if len(parsed) == 1 and SELF in parsed else parsed
    return result
