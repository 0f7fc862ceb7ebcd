"""`is_production`: whether a cluster is shown as a production cluster, by its name."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final

__all__ = ["is_production"]

_WORD: Final = re.compile(r"(?<![a-z])(?<!non[-_ .])(?<!not[-_ .])(?<!pre[-_ .])(?:prod|production|prd)(?![a-z])")


def is_production(name: str, patterns: Collection[str] = ()) -> bool:
    """Whether the name of a context matches one of the patterns (`*`, `?`, `[...]`), ignoring case.

    Without patterns: whether it contains the word `prod`, `production` or `prd`. `preprod` and `non-prod` are other
    words.
    """
    wanted = name.lower()
    if patterns:
        return any(fnmatchcase(wanted, pattern.lower()) for pattern in patterns)
    return _WORD.search(wanted) is not None
