"""Helpers for defaults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["each", "part", "put"]


def put(obj: dict[str, Any], **fields: Any) -> None:
    """Sets fields that are absent, null, or an empty string, which is Go's zero value."""
    for name, value in fields.items():
        if obj.get(name) in (None, ""):
            obj[name] = value


def part(obj: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a nested struct; creates it if absent."""
    found = obj.get(name)
    if found is None:
        found = obj[name] = {}
    result: dict[str, Any] = found
    return result


def each(obj: dict[str, Any] | None, *names: str) -> Iterable[dict[str, Any]]:
    """Yields the elements of the lists with these names. Absent lists are skipped; null is Go's empty struct."""
    for name in names:
        found: list[Any] = (obj or {}).get(name) or []
        for index, element in enumerate(found):
            if element is None:
                found[index] = {}
            yield found[index]
