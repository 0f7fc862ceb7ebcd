"""`changed_fields`: the paths of the fields that a write changes. Values are compared and never returned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["changed_fields"]

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def changed_fields(before: Any, after: Any) -> list[str]:
    """Returns the paths of all leaves that differ: `spec.ports[0].port`, `metadata.labels["example.com/a"]`.

    A leaf is any value except a non-empty mapping or list. List elements are compared by position.
    """
    return [*_differing(before, after, "")]


def _differing(before: Any, after: Any, path: str) -> Iterator[str]:
    steps = _children(before, after)
    for step, was, now in steps:
        yield from _differing(was, now, _at(path, step))
    # Python considers True and 1 equal.
    if not steps and (before != after or type(before) is not type(after)):
        yield path or "."


def _children(before: Any, after: Any) -> list[tuple[str | int, Any, Any]]:
    """Returns the children of both values, if both are containers of the same type or one of them is absent."""
    if isinstance(before or after, dict) and isinstance(after or before, dict):
        was, now = before or {}, after or {}
        return [(str(name), was.get(name), now.get(name)) for name in sorted({*was, *now}, key=str)]
    if isinstance(before or after, list) and isinstance(after or before, list):
        first, second = before or [], after or []
        most = range(max(len(first), len(second)))
        return [(at, first[at] if at < len(first) else None, second[at] if at < len(second) else None) for at in most]
    return []


def _at(path: str, step: str | int) -> str:
    if isinstance(step, int):
        return f"{path}[{step}]"
    if _PLAIN.fullmatch(step):
        return f"{path}.{step}" if path else step
    return f"{path}[{json.dumps(step)}]"
