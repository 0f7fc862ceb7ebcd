"""Places in an object: as a tuple of names and numbers here, as a text such as `spec.ports[0].name` in messages."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Final, TypeAlias

__all__ = ["MISSING", "Path", "format_path", "value_at"]

Path: TypeAlias = tuple[str | int, ...]
"""`("spec", "ports", 0, "name")`; empty for the object itself."""


class Missing(Enum):
    """One value, that is no JSON."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""What stands at a place that does not exist."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_$-]+")


def value_at(value: Any, path: Path) -> Any:
    """What stands at a place of a value, or `MISSING`."""
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
    """The place as the API server writes it: `spec.ports[0].name`, `spec.labels[example.com/a]`."""
    text = ""
    for step in path:
        if isinstance(step, int) or not _PLAIN.fullmatch(step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
