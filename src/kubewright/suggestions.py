"""Which of the names there are somebody meant who wrote another one."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(wrong: str, names: Iterable[str], likeness: float = 0.6) -> str | None:
    """The name that is most like the wrong one; None when none is like it (1 is the same, 0 nothing alike)."""
    from difflib import get_close_matches  # costs more than everything else here, and most runs have no typo

    return next(iter(get_close_matches(wrong, list(names), 1, likeness)), None)
