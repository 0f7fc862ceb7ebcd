"""Patches of plain JSON, for states of objects that no server has. Pure functions."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from kubewright.diff._diff import USUAL_KEYS, identities

__all__ = ["PatchFailed", "json_patched", "merge_patched", "rebased"]

_MISSING: Any = object()


class PatchFailed(ValueError):
    """An operation of a JSON Patch does not fit the object."""


def merge_patched(value: Any, patch: Any) -> Any:
    """Returns the value after a merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patched(merged.get(name), change)
    return merged


def json_patched(value: Any, operations: Iterable[dict[str, Any]]) -> Any:
    """Returns the value after a JSON Patch (RFC 6902). Raises `PatchFailed`."""
    document = {"": copy.deepcopy(value)}
    for operation in operations:
        op, steps = operation["op"], ["", *_steps(operation["path"])]
        if op in ("move", "copy"):
            source = ["", *_steps(operation["from"])]
            moved = copy.deepcopy(_get(document, source))
            if op == "move":
                _remove(document, source)
            _add(document, steps, moved)
        elif op == "add":
            _add(document, steps, operation["value"])
        elif op == "remove":
            _remove(document, steps)
        elif op == "replace":
            _get(document, steps)
            _set(document, steps, operation["value"])
        elif op != "test" or _get(document, steps) != operation.get("value"):
            raise PatchFailed(f"the operation {op} at {operation['path']} failed")
    return document[""]


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _parent(document: Any, steps: list[str]) -> tuple[Any, Any]:
    parent = document
    for step in steps[:-1]:
        parent = _member(parent, step)
    last: Any = steps[-1]
    if isinstance(parent, list):
        last = len(parent) if last == "-" else _index(last)
    elif not isinstance(parent, dict):
        raise PatchFailed(f"{'/'.join(steps)} is not in the object")
    return parent, last


def _index(step: str) -> int:
    if not step.isascii() or not step.isdigit():
        raise PatchFailed(f"{step!r} is not an index of a list")
    return int(step)


def _member(value: Any, step: str) -> Any:
    try:
        return value[_index(step)] if isinstance(value, list) else value[step]
    except (KeyError, IndexError, TypeError):
        raise PatchFailed(f"{step!r} is not in the object") from None


def _get(document: Any, steps: list[str]) -> Any:
    for step in steps:
        document = _member(document, step)
    return document


def _set(document: Any, steps: list[str], value: Any) -> None:
    parent, last = _parent(document, steps)
    parent[last] = value


def _add(document: Any, steps: list[str], value: Any) -> None:
    parent, last = _parent(document, steps)
    if isinstance(parent, list):
        if last > len(parent):
            raise PatchFailed(f"index {last} is behind the end of the list")
        parent.insert(last, value)
    else:
        parent[last] = value


def _remove(document: Any, steps: list[str]) -> None:
    _get(document, steps)
    parent, last = _parent(document, steps)
    del parent[last]


def rebased(reference: Any, ours: Any, theirs: Any) -> Any:
    """Returns `ours` with the changes that lead from `reference` to `theirs`."""
    if reference is ours or reference == ours:
        return theirs
    if reference == theirs:
        return ours
    if all(isinstance(one, dict) for one in (reference, ours, theirs)):
        return _rebased_members(reference, ours, theirs)
    if all(isinstance(one, list) for one in (reference, ours, theirs)):
        for names in USUAL_KEYS:
            keyed = [_keyed(names, one) for one in (reference, ours, theirs)]
            if None not in keyed:
                return list(_rebased_members(*(one or {} for one in keyed)).values())
    return theirs


def _keyed(names: tuple[str, ...], elements: list[Any]) -> dict[Any, Any] | None:
    keys = identities(names, elements)
    return None if keys is None else dict(zip(keys, elements, strict=True))


def _rebased_members(reference: dict[Any, Any], ours: dict[Any, Any], theirs: dict[Any, Any]) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        old, own, new = (one.get(name, _MISSING) for one in (reference, ours, theirs))
        value = own if new is _MISSING and old is _MISSING else new if own is _MISSING else rebased(old, own, new)
        if own is _MISSING and old is not _MISSING and old == new:
            continue  # removed by us, unchanged by them
        if value is not _MISSING:
            merged[name] = value
    return merged
