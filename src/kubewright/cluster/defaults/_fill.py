"""Small steps that defaults are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["each", "part", "put"]


def put(obj: dict[str, Any], **fields: Any) -> None:
    """Set fields that are absent, null, or the zero value of what Go cannot leave absent: an empty text."""
    for name, value in fields.items():
        if obj.get(name) in (None, ""):
            obj[name] = value


def part(obj: dict[str, Any], name: str) -> dict[str, Any]:
    """A struct inside the object, made if it is absent."""
    found = obj.get(name)
    if found is None:
        found = obj[name] = {}
    result: dict[str, Any] = found
    return result


def each(obj: dict[str, Any] | None, *names: str) -> Iterable[dict[str, Any]]:
    """The elements of the lists under these names; none when a list is absent."""
    for name in names:
        yield from (obj or {}).get(name) or ()
