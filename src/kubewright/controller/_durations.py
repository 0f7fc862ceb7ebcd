"""Lengths of time, as they are written in options: 30, "1m30s", a timedelta."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TypeAlias

from kubewright._options import Unsuitable

__all__ = ["Duration", "more_than_zero", "seconds"]

Duration: TypeAlias = float | timedelta | str
"""A length of time: seconds, a timedelta, or a text such as "30s" or "1m30s"."""

_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_A_DURATION = "a length of time, such as 30s, 1m30s, 500ms, or a number of seconds"


def seconds(given: object) -> float:
    """A length of time in seconds: a number, a timedelta, or a text as Go writes them. Never negative."""
    if isinstance(given, timedelta):
        found = given.total_seconds()
    elif isinstance(given, str):
        found = _seconds_of(given.strip())
    elif isinstance(given, int | float) and not isinstance(given, bool):
        found = float(given)
    else:
        raise Unsuitable(_A_DURATION)
    if not (math.isfinite(found) and found >= 0):
        raise Unsuitable(_A_DURATION)
    return found


def more_than_zero(given: object) -> float:
    """The same, but not 0 either."""
    found = seconds(given)
    if found <= 0:
        raise Unsuitable(f"{_A_DURATION}, and more than 0")
    return found


def _seconds_of(text: str) -> float:
    if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise Unsuitable(_A_DURATION)
    return math.fsum(float(number) * _UNITS[unit] for number, unit in parts)
