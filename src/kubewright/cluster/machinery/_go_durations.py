"""Go's durations in query parameters."""

from __future__ import annotations

import re
from typing import Final

from kubewright.cluster.machinery._field_errors import shown

__all__ = ["duration_problem"]

_UNITS: Final = frozenset({"ns", "us", "\u00b5s", "\u03bcs", "ms", "s", "m", "h"})
_PART: Final = re.compile(r"([0-9]*\.?[0-9]*)([^0-9.]*)")
_MAX_LENGTH: Final = 64


def duration_problem(text: str) -> str:
    """Returns Go's message for a string that is not a duration such as `1m30s`; empty if it is one."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    problem = f"time: invalid duration {shown(text)}"
    if not rest or len(text) > _MAX_LENGTH:
        return problem
    while rest:
        found = _PART.match(rest)
        assert found is not None  # it matches the empty string
        number, unit = found.groups()
        if not re.search("[0-9]", number):
            return problem
        if not unit:
            return f"time: missing unit in duration {shown(text)}"
        if unit not in _UNITS:
            return f"time: unknown unit {shown(unit)} in duration {shown(text)}"
        rest = rest[found.end() :]
    return ""
