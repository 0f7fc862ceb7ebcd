"""`ConfigError`: the error of configuration and credentials."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ConfigError"]


class ConfigError(Exception):
    """The client cannot be configured, or its credentials are not available.

    The message is one sentence: it names the file and the entry, what is wrong and how to fix it, and never contains a
    secret.
    """


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: the close matches, or all names if there are few."""
    import difflib

    names = sorted(known)
    if close := difflib.get_close_matches(wanted, names, n=3):
        return f"; did you mean {' or '.join(map(repr, close))}?"
    if not names:
        return "; there is none"
    shown = ", ".join(map(repr, names[:10]))
    return f"; there is {shown}{', …' if len(names) > 10 else ''}"
