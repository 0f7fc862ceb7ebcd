"""Finds duplicate fields in JSON: the decoder keeps the last one, but strict validation reports them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["Members", "duplicate_fields", "duplicates_in"]


class Members(list[tuple[str, Any]]):
    """The members of a JSON object in order, duplicates included."""


def duplicate_fields(text: bytes) -> list[str]:
    """Returns the paths of duplicate fields in the server's notation, in document order."""
    try:
        decoded = json.loads(text, object_pairs_hook=Members)
    except ValueError:
        return []
    return list(dict.fromkeys(duplicates_in(decoded, "")))


def duplicates_in(value: Any, path: str) -> Iterator[str]:
    """Yields the duplicate fields of a value that was decoded into `Members`, at or below `path`."""
    if isinstance(value, Members):
        seen: set[str] = set()
        for name, item in value:
            where = f"{path}.{name}" if path else name
            if name in seen:
                yield where
            seen.add(name)
            if isinstance(item, list):
                yield from duplicates_in(item, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from duplicates_in(item, f"{path}[{index}]")
