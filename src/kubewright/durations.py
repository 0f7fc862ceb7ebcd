"""Durations as people write and read them: `parse_duration("1m30s")`, `format_duration(1000)` is `16m40s`.

Options take 30, "1m30s" or a timedelta. Messages, logs and pages print every number of seconds by `format_duration`.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Final, TypeAlias

from kubewright.arguments import InvalidValue

__all__ = ["Duration", "check_duration", "format_age", "format_duration", "more_than_zero", "parse_duration"]

Duration: TypeAlias = float | timedelta | str
"""A duration: seconds, a timedelta, or a string such as "30s" or "1m30s"."""

_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|us|µs|s|m|h)")
_UNITS: Final = {"us": 1e-6, "µs": 1e-6, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_A_DURATION: Final = "a duration, such as 30s, 1m30s, 500ms, or a number of seconds"


def parse_duration(given: object) -> float:
    """Returns a duration in seconds, from a number, a timedelta or a string as Go writes them. Never negative.

    Raises `InvalidValue`, which says what a duration is.
    """
    if isinstance(given, timedelta):
        found = given.total_seconds()
    elif isinstance(given, str):
        found = _seconds_of(given.strip())
    elif isinstance(given, int | float) and not isinstance(given, bool):
        found = float(given)
    else:
        raise InvalidValue(_A_DURATION)
    if not (math.isfinite(found) and found >= 0):
        raise InvalidValue(_A_DURATION)
    return found


def more_than_zero(given: object) -> float:
    """Returns the same as `parse_duration`, but rejects 0."""
    found = parse_duration(given)
    if found <= 0:
        raise InvalidValue(f"{_A_DURATION}, and more than 0")
    return found


def check_duration(name: str, given: object, *, zero: bool = True) -> float:
    """Returns the duration of an option in seconds. `zero`: whether it may be 0.

    Raises an error that names the option: TypeError for a value that is not a duration, ValueError for an invalid one.
    """
    if type(given) is float and 0 < given < math.inf:  # the common case, for callers that check often
        return given
    try:
        return parse_duration(given) if zero else more_than_zero(given)
    except InvalidValue as error:
        is_time = isinstance(given, str | int | float | timedelta) and not isinstance(given, bool)
        raise (ValueError if is_time else TypeError)(f"{name} must be {error}, not {given!r}") from None


def format_duration(seconds: float) -> str:
    """Returns a duration for people: `16m40s`, `1h30m`, `2.5s`, `5ms`, `40µs`. `parse_duration` reads it again.

    It is rounded: to seconds from a minute on, and to two or three digits below.
    """
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if not math.isfinite(seconds):
        return str(seconds)
    if (fraction := _below_a_minute(seconds)) is not None:
        return fraction
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number)


def format_age(seconds: float) -> str:
    """Returns how long something has lasted, in its largest unit: `59s`, `4m`, `5h`, `2d`. Never negative."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(max(seconds, 0))}s"


def _below_a_minute(seconds: float) -> str | None:
    """Returns the duration in one unit; None if it is a minute or more, also after rounding."""
    for unit, size, limit in (("µs", 1e-6, 1000), ("ms", 1e-3, 1000), ("s", 1.0, 60)):
        number = seconds / size
        rounded = round(number, 2 if unit == "s" and number < 10 else 1 if unit == "s" or number < 10 else 0)
        if rounded < limit:
            return "0s" if not rounded else f"{rounded:.2f}".rstrip("0").rstrip(".") + unit
    return None


def _seconds_of(text: str) -> float:
    if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InvalidValue(_A_DURATION)
    return math.fsum(float(number) * _UNITS[unit] for number, unit in parts)
