"""Field sets: the server's `managedFields[*].fieldsV1`, as plain JSON.

A field set is a tree. Its steps are `f:name` (a member), `k:{"type":"Ready"}` (an element of a list with map keys),
`v:"value"` (an element of a set) and `.` (the container itself). A step without children stands for the whole value.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

__all__ = ["FieldSet", "content_of", "minus", "part_in", "union", "without_fields"]

FieldSet: TypeAlias = dict[str, Any]


def content_of(value: Any, fields: FieldSet) -> Any:
    """Returns the part of a value that a field set names: its manager must apply this part to keep it."""
    steps = {step: inner for step, inner in fields.items() if step != "."}
    if not steps:
        return value
    if isinstance(value, dict):
        names = {step[2:]: inner for step, inner in steps.items() if step.startswith("f:")}
        return {name: content_of(value[name], inner) for name, inner in names.items() if name in value}
    if isinstance(value, list):
        found = ((element, _step_of(element, steps)) for element in value)
        return [content_of(element, steps[step]) for element, step in found if step is not None]
    return value


def part_in(fields: FieldSet, content: Any) -> tuple[FieldSet, FieldSet]:
    """Splits a field set into the part that `content` has values for, and the rest."""
    taken: FieldSet = {}
    rest: FieldSet = {}
    for step, inner in fields.items():
        found, below = _below(step, content)
        if step == "." or not found:
            rest[step] = inner
            continue
        ours, others = part_in(inner, below) if inner and isinstance(below, dict | list) else (inner, None)
        taken[step] = ours
        if others is not None and set(others) - {"."}:
            rest[step] = others
    return taken, rest if set(rest) - {"."} else {}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Returns the fields that are in either set."""
    return one | {step: union(one[step], inner) if step in one else inner for step, inner in other.items()}


def minus(one: FieldSet, other: FieldSet) -> FieldSet:
    """Returns the fields of the first set that the second one does not have."""
    left: FieldSet = {}
    for step, inner in one.items():
        if step not in other:
            left[step] = {} if "." in inner else inner  # the container itself is in the set: all of it
        elif inner and other[step] and (rest := minus(inner, other[step])).keys() - {"."}:
            left[step] = rest
    return left if left.keys() - {"."} else {}


def without_fields(value: Any, fields: FieldSet) -> Any:
    """Returns the value without the part that a field set names, and without containers that this empties."""
    if isinstance(value, dict):
        left: dict[str, Any] = {}
        for name, member in value.items():
            below = fields.get(f"f:{name}")
            kept = member if below is None else without_fields(member, below) if below else None
            if below is None or kept:
                left[name] = kept
        return left
    if isinstance(value, list):
        steps = [_step_of(element, fields) for element in value]
        kept = [(one, fields[step] if step else None) for one, step in zip(value, steps, strict=True)]
        return [without_fields(one, below) if below else one for one, below in kept if below is None or below]
    return value


def _below(step: str, content: Any) -> tuple[bool, Any]:
    if step.startswith("f:") and isinstance(content, dict):
        return step[2:] in content, content.get(step[2:])
    if isinstance(content, list):
        for element in content:
            if _step_of(element, {step: {}}) is not None:
                return True, element
    return False, None


def _step_of(element: Any, steps: FieldSet) -> str | None:
    """Returns the step that leads to an element of a list."""
    for step in steps:
        if step.startswith("k:") and isinstance(element, dict):
            keys: dict[str, Any] = msgspec.json.decode(step[2:])
            if all(element.get(name) == value for name, value in keys.items()):
                return step
        elif step.startswith("v:") and msgspec.json.decode(step[2:]) == element:
            return step
    return None
