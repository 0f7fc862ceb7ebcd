"""The one error of configuration and credentials."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ConfigError"]


class ConfigError(Exception):
    """The client cannot be configured, or its credentials cannot be had.

    The text is one sentence for a person: it names the file and the entry, says what is wrong with it and what to
    do next, and never holds a secret.
    """


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """Returns the end of a sentence about an unknown name: the close matches, or all names when they are few."""
    import difflib

    names = sorted(known)
    if close := difflib.get_close_matches(wanted, names, n=3):
        return f"; did you mean {' or '.join(map(repr, close))}?"
    if not names:
        return "; there is none"
    shown = ", ".join(map(repr, names[:10]))
    return f"; there is {shown}{', …' if len(names) > 10 else ''}"
