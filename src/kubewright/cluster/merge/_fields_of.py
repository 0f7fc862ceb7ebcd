"""The fields of an object by its schema, and the differences between two objects."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubewright.api.wire import equal_json, identical_json
from kubewright.cluster.merge._elements import ElementError, element_of
from kubewright.cluster.merge._trees import EMPTY, LEAF, SELF, Tree
from kubewright.cluster.schema import Schema

__all__ = ["Comparison", "compare", "fields_of"]

_NOTHING: Final = None


def fields_of(schema: Schema, value: Any) -> Tree:
    """Returns the set of all fields of a value: its leaves, list elements and map keys."""
    return _fields(schema, value) or EMPTY


def _fields(schema: Schema, value: Any) -> Tree | None:
    """Returns the fields; None for nothing, an empty tree if the value itself is one field."""
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
        if step in tree:  # duplicate elements are owned as a whole
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
    """The differences between two objects, as three disjoint sets."""

    removed: Tree
    modified: Tree
    added: Tree


def compare(schema: Schema, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """Returns the differences of the new object. Raises ElementError for elements that cannot be identified."""
    comparison = _Comparison({}, {}, {})
    if old is not new:
        _compare_maps(schema, old, new, comparison)
    return Comparison(*comparison)


class _Comparison(NamedTuple):
    """The three sets below one path, while they are built."""

    removed: dict[str, Any]
    modified: dict[str, Any]
    added: dict[str, Any]


def _compare_maps(schema: Schema, old: dict[str, Any], new: dict[str, Any], out: _Comparison) -> None:
    fields = schema.fields
    for name, item in new.items():
        inner = fields[name] or schema.element
        if inner is None:
            continue
        if name in old:
            before = old[name]
            if before is not item:
                _compare_at("f:" + name, inner, before, item, out)
        else:
            out.added["f:" + name] = _all_fields(inner, item)
    for name, item in old.items():
        if name not in new:
            inner = fields[name] or schema.element
            if inner is not None:
                out.removed["f:" + name] = _all_fields(inner, item)


def _compare_at(step: str, schema: Schema, old: Any, new: Any, out: _Comparison) -> None:
    kind = type(new)
    if kind is not type(old):
        _compare_kinds(step, schema, old, new, out)
    elif not _is_granular(schema, new):
        if not equal_json(old, new):
            out.modified[step] = LEAF
    elif not identical_json(old, new):
        inside = _Comparison({}, {}, {})
        if kind is dict:
            _compare_maps(schema, old, new, inside)
        else:
            _compare_lists(schema, old, new, inside)
        removed, modified, added = inside
        if removed:
            out.removed[step] = removed
        if modified:
            out.modified[step] = modified
        if added:
            out.added[step] = added


def _compare_kinds(step: str, schema: Schema, old: Any, new: Any, out: _Comparison) -> None:
    """Compares values of different kinds, such as map and string: removes the old fields, adds the new ones."""
    was, now = bool(old) and _is_granular(schema, old), bool(new) and _is_granular(schema, new)
    if was:
        out.removed[step] = _below(schema, old)
    if now:
        out.added[step] = _below(schema, new)
    if not (was and now) and not (was and new is None) and not (now and old is None) and not equal_json(old, new):
        out.modified[step] = LEAF


def _is_granular(schema: Schema, value: Any) -> bool:
    """Returns whether fields below the value have their own owners."""
    kind = type(value)
    if kind is dict:
        return schema.is_map and not schema.atomic
    return kind is list and schema.is_list and schema.list_type != "atomic"


def _all_fields(schema: Schema, value: Any) -> Tree:
    """Returns the fields of a value that was added or removed completely."""
    return {SELF: LEAF, **_below(schema, value)} if value and _is_granular(schema, value) else LEAF


def _below(schema: Schema, value: Any) -> dict[str, Any]:
    if type(value) is dict:
        fields, element = schema.fields, schema.element
        return {
            "f:" + name: LEAF if type(item) is str else _all_fields(inner, item)
            for name, item in value.items()
            if (inner := fields[name] or element) is not None
        }
    assert schema.items is not None
    items = schema.items
    return {
        step: _all_fields(items, found[0]) if len(found) == 1 else LEAF
        for step, found in _indexed(schema, value).items()
    }


def _compare_lists(schema: Schema, old: list[Any], new: list[Any], out: _Comparison) -> None:
    assert schema.items is not None
    before, after = _indexed(schema, old), _indexed(schema, new)
    for step, ours in before.items():
        theirs = after.get(step, ())
        if len(ours) == 1 and len(theirs) == 1:
            _compare_at(step, schema.items, ours[0], theirs[0], out)
        elif len(ours) > 1 and len(theirs) > 1:
            if not equal_json(list(ours), list(theirs)):
                out.modified[step] = LEAF
        else:  # a duplicate element is compared as a whole
            out.removed[step] = _all_fields(schema.items, ours[0]) if len(ours) == 1 else LEAF
            if theirs:
                out.added[step] = _all_fields(schema.items, theirs[0]) if len(theirs) == 1 else LEAF
    for step, theirs in after.items():
        if step not in before:
            out.added[step] = _all_fields(schema.items, theirs[0]) if len(theirs) == 1 else LEAF


def _indexed(schema: Schema, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for index, item in enumerate(items):
        try:
            found.setdefault(element_of(schema, item), []).append(item)
        except ElementError as error:
            raise ElementError(f"element {index}: {error}") from None
    return found
