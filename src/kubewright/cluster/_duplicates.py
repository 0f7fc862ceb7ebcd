"""Fields that stand twice in a JSON text: the decoder keeps the last, and strict validation wants to know."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["duplicate_fields"]


class _Twice(dict[str, Any]):
    """An object in which names stand more than once."""

    names: list[str]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen: set[str] = set()
    twice = _Twice(made)
    twice.names = [name for name, _ in pairs if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
    return twice


def duplicate_fields(text: bytes) -> list[str]:
    """The paths of the fields that stand twice, as the server names them."""
    found: list[str] = []

    def look(value: Any, path: str) -> None:
        if isinstance(value, dict):
            if isinstance(value, _Twice):
                found.extend(f"{path}.{name}" if path else name for name in dict.fromkeys(value.names))
            for name, item in value.items():
                if isinstance(item, dict | list):
                    look(item, f"{path}.{name}" if path else name)
        else:
            for index, item in enumerate(value):
                if isinstance(item, dict | list):
                    look(item, f"{path}[{index}]")

    try:
        decoded = json.loads(text, object_pairs_hook=_pairs)
    except ValueError:
        return []
    if isinstance(decoded, dict | list):
        look(decoded, "")
    return found
