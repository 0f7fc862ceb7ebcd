"""What a write would change on the server: lines of YAML, before and after, and who changed them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from kubewright.console.forms._lines import matching_lines
from kubewright.console.forms._yaml import write_yaml

__all__ = ["DiffLine", "diff_yaml", "normalized"]

_SERVERS: Final = (
    "managedFields",
    "resourceVersion",
    "generation",
    "uid",
    "creationTimestamp",
    "selfLink",
)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line. `by_server` tells that nobody asked for the change: a default, or a webhook."""

    kind: Literal["same", "added", "removed", "gap"]
    text: str
    by_server: bool = False


def normalized(obj: dict[str, Any]) -> dict[str, Any]:
    """The object without what the server writes about it, its members in one order."""
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _SERVERS}
    first = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": _ordered(metadata)}
    others = {name: _ordered(obj[name]) for name in sorted(obj) if name not in first}
    return copy.deepcopy(first | others)


def diff_yaml(
    before: dict[str, Any] | None, wanted: dict[str, Any], after: dict[str, Any], context: int = 3
) -> list[DiffLine]:
    """What differs between an object as it is (None when it is new) and as it would be, with some lines around.

    `wanted` is what was asked for: what differs from it was changed by the server.
    """
    was = write_yaml(normalized(before)).splitlines() if before is not None else []
    asked = write_yaml(normalized(wanted)).splitlines()
    now = write_yaml(normalized(after)).splitlines()
    asked_now = {at for _, at in matching_lines(asked, now)}
    asked_was = {at for _, at in matching_lines(asked, was)}
    lines: list[DiffLine] = []
    old = new = 0
    for at, new_at in [*matching_lines(was, now), (len(was), len(now))]:
        lines += [DiffLine("removed", was[one], by_server=one in asked_was) for one in range(old, at)]
        lines += [DiffLine("added", now[one], by_server=one not in asked_now) for one in range(new, new_at)]
        lines += [DiffLine("same", text) for text in was[at : at + 1]]
        old, new = at + 1, new_at + 1
    return list(_around(lines, context)) if before is not None else lines


def _around(lines: list[DiffLine], context: int) -> Iterator[DiffLine]:
    """The changes with some lines around them; a gap stands for the rest."""
    changed = [at for at, line in enumerate(lines) if line.kind != "same"]
    near = {at + offset for at in changed for offset in range(-context, context + 1)}
    last = -1
    for at in sorted(near & set(range(len(lines)))):
        if at != last + 1:
            yield DiffLine("gap", f"{at - last - 1} lines")
        yield lines[at]
        last = at
    if changed and last != len(lines) - 1:
        yield DiffLine("gap", f"{len(lines) - 1 - last} lines")


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value)}
    return [_ordered(element) for element in value] if isinstance(value, list) else value
