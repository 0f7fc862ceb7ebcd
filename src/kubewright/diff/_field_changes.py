"""The differences between two states of an object, for people: the path and both values of each changed field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from kubewright.diff._diff import USUAL_KEYS, identities

__all__ = ["ABSENT", "FieldDifference", "field_differences"]

ABSENT: Final = msgspec.UNSET
"""The value of a field that one of the states does not have."""


class FieldDifference(msgspec.Struct, frozen=True):
    """A field that differs. `before` and `after` are plain JSON, or `ABSENT`."""

    path: tuple[str, ...]
    """The names that lead to the field; an element of a list is `[0]`, or `[name=web]` if the list has keys."""
    before: Any
    after: Any

    @property
    def op(self) -> Literal["add", "remove", "replace"]:
        """How the field changes."""
        return "add" if self.before is ABSENT else "remove" if self.after is ABSENT else "replace"

    @property
    def name(self) -> str:
        """The path as one string: `spec.containers[name=web].image`."""
        return "".join(step if step.startswith("[") else f".{step}" for step in self.path).removeprefix(".")


def field_differences(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[FieldDifference]:
    """Yields the fields that differ, down to single values. Elements of lists are paired as in `diff`."""
    if before is not ABSENT and after is not ABSENT and before == after and type(before) is type(after):
        return
    old, new = _members(before, after)
    if not old and not new:  # single values, or an empty object or list
        yield FieldDifference(path, before, after)
        return
    if before is not ABSENT and after is not ABSENT and type(before) is not type(after):
        yield FieldDifference(path, before, after)
        return
    for step in [*old, *(step for step in new if step not in old)]:
        yield from field_differences(old.get(step, ABSENT), new.get(step, ABSENT), (*path, step))


def _members(before: Any, after: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the members of two values, by the steps that lead to them."""
    if isinstance(before, list) or isinstance(after, list):
        lists = before if isinstance(before, list) else [], after if isinstance(after, list) else []
        for (key,) in USUAL_KEYS:
            if all(identities((key,), elements) is not None for elements in lists):
                return tuple({f"[{key}={element.get(key)}]": element for element in one} for one in lists)  # type: ignore[return-value]
        return tuple({f"[{index}]": element for index, element in enumerate(one)} for one in lists)  # type: ignore[return-value]
    return before if isinstance(before, dict) else {}, after if isinstance(after, dict) else {}
