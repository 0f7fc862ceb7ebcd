"""Suggests the closest known name for a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(wrong: str, names: Iterable[str], likeness: float = 0.6) -> str | None:
    """Returns the name closest to the wrong one; None if none is similar enough (1 is equal, 0 is unrelated)."""
    from difflib import get_close_matches  # slow to import, and most runs have no typo

    return next(iter(get_close_matches(wrong, list(names), 1, likeness)), None)
