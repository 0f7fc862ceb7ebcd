"""`diff_yaml`: the lines of YAML that a write would change, and whether the server changed them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from kubewright.console.forms._lines import matching_lines
from kubewright.console.forms._yaml import write_yaml
from kubewright.counts import counted

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
    """One line of a diff. `by_server` marks a change that the user did not request, such as a default."""

    kind: Literal["same", "added", "removed", "gap"]
    text: str
    by_server: bool = False


def normalized(obj: dict[str, Any]) -> dict[str, Any]:
    """Returns the object without server-managed metadata, in a fixed order."""
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _SERVERS}
    first = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": _ordered(metadata)}
    others = {name: _ordered(obj[name]) for name in sorted(obj) if name not in first}
    return copy.deepcopy(first | others)


def diff_yaml(
    before: dict[str, Any] | None, wanted: dict[str, Any], after: dict[str, Any], context: int = 3
) -> list[DiffLine]:
    """Returns the difference between the current object (None if it is new) and the object after the write.

    Unchanged lines are limited to `context` lines around each change. `wanted` is the requested object: lines that
    differ from it were changed by the server.
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
    """Yields the changes with the lines around them. A gap replaces the other lines."""
    changed = [at for at, line in enumerate(lines) if line.kind != "same"]
    near = {at + offset for at in changed for offset in range(-context, context + 1)}
    last = -1
    for at in sorted(near & set(range(len(lines)))):
        if at != last + 1:
            yield DiffLine("gap", f"{at - last - 1} lines")
        yield lines[at]
        last = at
    if changed and last != len(lines) - 1:
        yield DiffLine("gap", counted(len(lines) - 1 - last, "line"))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value)}
    return [_ordered(element) for element in value] if isinstance(value, list) else value
