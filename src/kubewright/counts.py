"""Numbers with their nouns, for messages."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, one: str, many: str = "") -> str:
    """Returns a number with its noun: `1 error`, `2 errors`.

    `many` is the plural of a noun that does not only get an s. Both forms can contain a verb: `counted(n, "cache is",
    "caches are")`.
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"
