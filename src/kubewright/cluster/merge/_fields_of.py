"""Which fields an object has, by its schema; and which fields differ between two objects."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubewright.cluster.merge._elements import ElementError, element_of
from kubewright.cluster.merge._trees import EMPTY, LEAF, SELF, Tree
from kubewright.cluster.schema import Schema

__all__ = ["Comparison", "compare", "equal", "fields_of"]

_NOTHING: Final = None


def fields_of(schema: Schema, value: Any) -> Tree:
    """The set of all fields that a value has: its leaves, and what stands for itself (elements, names in maps)."""
    return _fields(schema, value) or EMPTY


def _fields(schema: Schema, value: Any) -> Tree | None:
    """None when there is nothing at all; an empty tree when the value itself is one field."""
    kind = type(value)
    if kind is dict and schema.is_map:
        return LEAF if schema.atomic else _fields_of_map(schema, value)
    if kind is list and schema.is_list:
        return LEAF if schema.list_type == "atomic" else _fields_of_list(schema, value)
    return _NOTHING if value is None and schema.scalar is None and not _is_atomic(schema) else LEAF


def _is_atomic(schema: Schema) -> bool:
    return schema.atomic if schema.is_map else schema.list_type == "atomic"


def _fields_of_map(schema: Schema, value: dict[str, Any]) -> Tree | None:
    tree: dict[str, Any] = {}
    fields = schema.fields
    for name, item in value.items():
        inner = fields[name]
        if inner is None:
            below = _fields(schema.element, item) if schema.element is not None else LEAF
            itself = True
        else:
            below = _fields(inner, item)
            itself = item is None or (not item and type(item) is dict)
        if below is None:
            if itself:
                tree["f:" + name] = LEAF
        elif below and itself:
            tree["f:" + name] = {SELF: LEAF, **below}
        else:
            tree["f:" + name] = below
    return tree or None


def _fields_of_list(schema: Schema, value: list[Any]) -> Tree | None:
    assert schema.items is not None
    tree: dict[str, Any] = {}
    steps = [_step(schema, item) for item in value]
    for step, item in zip(steps, value, strict=True):
        if step is None:
            continue
        if step in tree:  # an element that is there twice is owned as a whole
            tree[step] = LEAF
            continue
        below = _fields(schema.items, item)
        tree[step] = {SELF: LEAF, **below} if below else LEAF
    return tree or None


def _step(schema: Schema, item: Any) -> str | None:
    try:
        return element_of(schema, item)
    except ElementError:
        return None


class Comparison(NamedTuple):
    """What differs between two objects, as three sets that have no field in common."""

    removed: Tree
    modified: Tree
    added: Tree


def compare(schema: Schema, old: Any, new: Any) -> Comparison:
    """What is different in the new value. Raises ElementError for elements that cannot be told apart."""
    removed: dict[str, Any] = {}
    modified: dict[str, Any] = {}
    added: dict[str, Any] = {}
    if old is not new:
        _compare_values(schema, old, new, _Difference(removed, modified, added))
    return Comparison(removed, modified, added)


class _Absent:
    __slots__ = ()


_ABSENT: Final = _Absent()


class _Difference:
    """The three sets below one place, while they are filled."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self, removed: dict[str, Any], modified: dict[str, Any], added: dict[str, Any]) -> None:
        self.removed = removed
        self.modified = modified
        self.added = added


def _compare_values(schema: Schema, old: Any, new: Any, out: _Difference) -> str:
    """Compare what is below a place. What is to be said of the place itself is returned: "", or one of the sets."""
    kind = type(new) if new is not _ABSENT and new is not None else type(old)
    other = type(old)
    if other is not kind and other is not _Absent and old is not None and new is not _ABSENT and new is not None:
        return _compare_kinds(schema, old, new, out)
    if kind is dict and schema.is_map and not schema.atomic and (old or new):
        return _compare_maps(schema, _members(old), _members(new), old, new, out)
    if kind is list and schema.is_list and schema.list_type != "atomic" and (old or new):
        return _compare_lists(schema, _elements(old), _elements(new), old, new, out)
    return _compare_leaves(old, new)


def _compare_kinds(schema: Schema, old: Any, new: Any, out: _Difference) -> str:
    """A map has become a list, or a list a text: what was below is removed, what is there now is added."""
    if type(old) is dict and schema.is_map and not schema.atomic and old:
        _compare_maps(schema, old, {}, old, new, out)
    elif type(old) is list and schema.is_list and schema.list_type != "atomic" and old:
        _compare_lists(schema, old, [], old, new, out)
    if type(new) is dict and schema.is_map and not schema.atomic and new:
        return _compare_maps(schema, {}, new, old, new, out)
    if type(new) is list and schema.is_list and schema.list_type != "atomic" and new:
        return _compare_lists(schema, [], new, old, new, out)
    return _compare_leaves(old, new)


def _members(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}


def _elements(value: Any) -> list[Any]:
    return value if type(value) is list else []


def _compare_leaves(old: Any, new: Any) -> str:
    if old is _ABSENT:
        return "added"
    if new is _ABSENT:
        return "removed"
    return "" if equal(old, new) else "modified"


def _compare_maps(
    schema: Schema, old: dict[str, Any], new: dict[str, Any], was: Any, now: Any, out: _Difference
) -> str:
    fields = schema.fields
    for name, item in new.items():
        before = old.get(name, _ABSENT)
        if before is item:
            continue
        inner = fields[name] or schema.element
        if inner is not None:
            _compare_at("f:" + name, inner, before, item, out)
    for name, item in old.items():
        if name not in new:
            inner = fields[name] or schema.element
            if inner is not None:
                _compare_at("f:" + name, inner, item, _ABSENT, out)
    return "added" if was is _ABSENT else "removed" if now is _ABSENT else ""


def _compare_at(step: str, schema: Schema, old: Any, new: Any, out: _Difference) -> None:
    kind = type(new)
    if kind is type(old) and kind is not dict and kind is not list:  # most values are the same scalar as before
        if old != new:
            out.modified[step] = LEAF
        return
    inside = _Difference({}, {}, {})
    itself = _compare_values(schema, old, new, inside)
    for name in ("removed", "modified", "added"):
        below = getattr(inside, name)
        if below:
            getattr(out, name)[step] = {SELF: LEAF, **below} if itself == name else below
        elif itself == name:
            getattr(out, name)[step] = LEAF


def _compare_lists(schema: Schema, old: list[Any], new: list[Any], was: Any, now: Any, out: _Difference) -> str:
    assert schema.items is not None
    before, after = _indexed(schema, old), _indexed(schema, new)
    for step in [*before, *(step for step in after if step not in before)]:
        ours, theirs = before.get(step, ()), after.get(step, ())
        if len(ours) < 2 and len(theirs) < 2:
            _compare_at(step, schema.items, ours[0] if ours else _ABSENT, theirs[0] if theirs else _ABSENT, out)
        elif len(ours) > 1 and len(theirs) > 1:
            if not equal(list(ours), list(theirs)):
                out.modified[step] = LEAF
        elif len(ours) > 1:
            if theirs:
                _compare_at(step, schema.items, _ABSENT, theirs[0], out)
            _insert(out.removed, step)
        else:
            if ours:
                _compare_at(step, schema.items, ours[0], _ABSENT, out)
            _insert(out.added, step)
    return "added" if was is _ABSENT else "removed" if now is _ABSENT else ""


def _insert(tree: dict[str, Any], step: str) -> None:
    below = tree.get(step)
    tree[step] = {SELF: LEAF, **below} if below and SELF not in below else (below or LEAF)


def _indexed(schema: Schema, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for index, item in enumerate(items):
        try:
            found.setdefault(element_of(schema, item), []).append(item)
        except ElementError as error:
            raise ElementError(f"element {index}: {error}") from None
    return found


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same. A number is the same as text writes it: 1 is 1.0, but not true."""
    if type(one) is dict:
        return (
            type(other) is dict
            and len(one) == len(other)
            and all(name in other and equal(value, other[name]) for name, value in one.items())
        )
    if type(one) is list:
        return type(other) is list and len(one) == len(other) and all(map(equal, one, other))
    return (type(one) is bool) == (type(other) is bool) and bool(one == other)
