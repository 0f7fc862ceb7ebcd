"""Paths into an object: a tuple of names and indexes, written as `spec.ports[0].name` in messages."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Final, TypeAlias

__all__ = ["MISSING", "Path", "format_path", "value_at"]

Path: TypeAlias = tuple[str | int, ...]
"""`("spec", "ports", 0, "name")`; empty for the object itself."""


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""Returned for a path that does not exist. Distinct from null."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_$-]+")


def value_at(value: Any, path: Path) -> Any:
    """Returns the value at a path, or `MISSING`."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or not 0 <= step < len(value):
                return MISSING
            value = value[step]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return MISSING
    return value


def format_path(path: Path) -> str:
    """Returns the path as the API server writes it: `spec.ports[0].name`, `spec.labels[example.com/a]`."""
    text = ""
    for step in path:
        if isinstance(step, int) or not _PLAIN.fullmatch(step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
