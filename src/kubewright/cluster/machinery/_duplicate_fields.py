"""Fields that stand twice in a JSON text: the decoder keeps the last, and strict validation wants to know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["Members", "duplicate_fields", "duplicates_in"]


class Members(list[tuple[str, Any]]):
    """An object with all that stands in it, in order, also what stands there twice."""


def duplicate_fields(text: bytes) -> list[str]:
    """The paths of the fields that stand twice, as the server names them and in its order: that of the text."""
    try:
        decoded = json.loads(text, object_pairs_hook=Members)
    except ValueError:
        return []
    return list(dict.fromkeys(duplicates_in(decoded, "")))


def duplicates_in(value: Any, path: str) -> Iterator[str]:
    """The same below a place of a text that was decoded into `Members`."""
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
