"""Semantic versions: validation and order."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_semver", "precedence"]

_NUMBER: Final = r"(?:0|[1-9]\d*)"
_PRE: Final = rf"(?:{_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PRE}(?:\.{_PRE})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)

Precedence = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


def is_semver(text: str) -> bool:
    """Whether a string is a full semantic version, such as `1.0.0-rc.1`."""
    return _SEMVER.fullmatch(text) is not None


def precedence(text: str) -> Precedence:
    """Returns the sort key of a version. Raises ValueError if it is not one."""
    match = _SEMVER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a semantic version, such as 1.0.0")
    before = match[4].split(".") if match[4] else []
    parts = tuple((not one.isdigit(), int(one) if one.isdigit() else 0, one) for one in before)
    return int(match[1]), int(match[2]), int(match[3]), not before, parts
