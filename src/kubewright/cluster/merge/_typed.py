"""Merging, pruning and validation of objects by their schema."""

from __future__ import annotations

from typing import Any, Final

from kubewright.cluster.merge._elements import ElementError, element_of, format_step
from kubewright.cluster.merge._go import go_syntax, go_type, plain
from kubewright.cluster.merge._trees import LEAF, SELF, Tree
from kubewright.cluster.schema import ANYTHING, Schema

__all__ = ["merge", "remove", "schema_errors", "with_schema_changes"]


def schema_errors(schema: Schema, value: Any, *, duplicates: bool = False) -> str:
    """Returns the violations of the schema with the server's messages. `duplicates` allows duplicate elements."""
    errors = _check(schema, value, duplicates)
    if len(errors) > 1:
        return "\n".join(["errors:", *("  " + _formatted(error) for error in errors)])
    return _formatted(errors[0]) if errors else ""


def _formatted(error: tuple[str, str]) -> str:
    path, message = error
    return f"{path}: {message}" if path else message


def _check(schema: Schema, value: Any, duplicates: bool) -> list[tuple[str, str]]:
    kind = type(value)
    if kind is dict and schema.is_map:
        errors: list[tuple[str, str]] = []
        fields = schema.fields
        for name, item in value.items():
            inner = fields[name] or schema.element
            if inner is None:
                return [*errors, ("." + name, "field not declared in schema")]
            if type(item) is str and inner.scalar == "string":
                continue
            errors += [("." + name + path, message) for path, message in _check(inner, item, duplicates)]
        return errors
    if kind is list and schema.is_list:
        return _check_list(schema, value, duplicates)
    if value is None:
        return []
    if schema.is_map:
        return [("", f"expected map, got &{{{plain(value)}}}")] if kind in (list, dict) or schema.scalar is None else []
    if schema.scalar is not None:
        return _check_scalar(schema.scalar, value)
    return [("", f"expected list, got &{{{plain(value)}}}")]


def _check_scalar(scalar: str, value: Any) -> list[tuple[str, str]]:
    kind = type(value)
    if scalar == "numeric" and kind is not int and kind is not float:
        return [("", f"expected numeric (int or float), got {go_type(value)}")]
    if scalar == "string" and kind is not str:
        return [("", f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}")]
    if scalar == "boolean" and kind is not bool:
        return [("", f"expected boolean, got &{{{plain(value)}}}")]
    if scalar == "untyped" and kind in (dict, list):
        return [("", f"expected any scalar, got &{{{plain(value)}}}")]
    return []


def _check_list(schema: Schema, items: list[Any], duplicates: bool) -> list[tuple[str, str]]:
    assert schema.items is not None
    errors: list[tuple[str, str]] = []
    seen = set()
    for index, item in enumerate(items):
        if schema.list_type == "atomic":
            step = f"i:{index}"
        else:
            try:
                step = element_of(schema, item)
            except ElementError as error:
                return [*errors, ("", f"element {index}: {error}")]
            if step in seen and not duplicates:
                errors.append(("", f"duplicate entries for key {format_step(step)}"))
            seen.add(step)
        found = _check(schema.items, item, duplicates)
        if found:
            errors += [(format_step(step) + path, message) for path, message in found]
    return errors


class _Absent:
    __slots__ = ()


_ABSENT: Final = _Absent()


def merge(schema: Schema, live: Any, config: Any) -> Any:
    """Returns the live value merged with the config; nothing is removed.

    If the config changes a list, its elements are in the config's order, and elements of the live list stay in between.
    """
    return _merge(schema, live, config)


def _merge(schema: Schema, live: Any, config: Any) -> Any:
    if live is _ABSENT:
        return config
    if type(config) is dict and schema.is_map and not schema.atomic:
        members = live if type(live) is dict else {}
        return _merge_maps(schema, members, config) if members or config else config
    if type(config) is list and schema.is_list and schema.list_type != "atomic":
        elements = live if type(live) is list else []
        return _merge_lists(schema, elements, config) if elements or config else config
    if config is None and live and _is_granular(schema, live):
        return live
    return config


def _is_granular(schema: Schema, value: Any) -> bool:
    if type(value) is dict:
        return schema.is_map and not schema.atomic
    return type(value) is list and schema.is_list and schema.list_type != "atomic"


def _merge_maps(schema: Schema, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    result = dict(live)
    fields = schema.fields
    for name, item in config.items():
        kind = type(item)
        if kind is dict or kind is list or item is None:
            inner = fields[name] or schema.element
            result[name] = item if inner is None else _merge(inner, live.get(name, _ABSENT), item)
        else:
            result[name] = item
    return result


def _merge_lists(schema: Schema, live: list[Any], config: list[Any]) -> list[Any]:
    items = schema.items
    assert items is not None
    theirs = [element_of(schema, item) for item in config]
    ours = [element_of(schema, item) for item in live]
    wanted = dict(zip(theirs, config, strict=True))
    there: dict[str, Any] = {}
    for step, item in zip(ours, live, strict=True):
        there[step] = _ABSENT if step in there else item  # a duplicate is replaced, not merged
    shared = [step for step in theirs if step in there]
    result: list[Any] = []
    merged: set[str] = set()
    left = right = next_shared = 0
    while left < len(ours) or right < len(theirs):
        if left < len(ours) and right < len(theirs):
            step = ours[left]
            if step == theirs[right]:
                merged.add(step)
                result.append(_merge(items, there[step], wanted[step]))
                left, right, next_shared = left + 1, right + 1, next_shared + 1
                continue
            if step in wanted and next_shared < len(shared) and shared[next_shared] != step:
                left += 1  # shared, but not the next one
                continue
        if left < len(ours):
            step = ours[left]
            if step not in wanted:
                result.append(live[left])
                left += 1
                continue
            if step in merged:
                left += 1
        if right < len(theirs):
            step = theirs[right]
            merged.add(step)
            result.append(_merge(items, there.get(step, _ABSENT), wanted[step]))
            right += 1
            if next_shared < len(shared) and shared[next_shared] == step:
                next_shared += 1
    return result


def remove(schema: Schema, value: Any, fields: Tree) -> Any:
    """Returns the value without these fields. A map or list that becomes empty becomes None."""
    kind = type(value)
    if kind is dict and schema.is_map:
        return _remove_from_map(schema, value, fields) if value and not schema.atomic else None
    if kind is list and schema.is_list:
        return _remove_from_list(schema, value, fields) if value and schema.list_type != "atomic" else None
    return value


def _remove_from_map(schema: Schema, value: dict[str, Any], fields: Tree) -> Any:
    result = {}
    for name, item in value.items():
        below = fields.get("f:" + name)
        if below is None:
            result[name] = item
        elif below and SELF not in below:
            inner = schema.fields[name] or schema.element
            result[name] = item if inner is None else remove(inner, item, below)
    return result or None


def _remove_from_list(schema: Schema, value: list[Any], fields: Tree) -> Any:
    assert schema.items is not None
    result = []
    for item in value:
        try:
            below = fields.get(element_of(schema, item))
        except ElementError:
            below = None
        if below is None:
            result.append(item)
        elif below and SELF not in below:
            result.append(remove(schema.items, item, below))
    return result or None


def with_schema_changes(tree: Tree, schema: Schema) -> Tree:
    """Converts a set that was written before lists or maps became atomic."""
    changed = _reconcile(tree, schema)
    return tree if changed is None else changed


def _reconcile(tree: Tree, schema: Schema) -> Tree | None:
    """Returns the converted subtree; None if nothing changes."""
    if schema.is_map:
        if schema.element is ANYTHING and not schema.known:
            return None
        if schema.atomic:
            return LEAF
    elif schema.is_list:
        if schema.list_type == "atomic":
            return LEAF
    else:
        return None
    result: dict[str, Any] | None = None
    for step, below in tree.items():
        if not below:  # a leaf is the same whether or not it is atomic
            continue
        inner = (schema.fields[step[2:]] or schema.element) if schema.is_map else schema.items
        if inner is None:
            continue
        new = _reconcile(below, inner)
        if new is not None:
            result = result if result is not None else dict(tree)
            result[step] = new
    return result
