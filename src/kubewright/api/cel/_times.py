"""Times and durations as strings, in Go's formats."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from kubewright.api.cel._values import Duration, EvaluationError, Timestamp

__all__ = ["duration_text", "parse_duration", "parse_timestamp", "part_of", "timestamp_text"]

_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION: Final = re.compile(r"[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_PIECE: Final = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_OFFSET: Final = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> Duration | None:
    """Returns the duration in a string such as `1h30m`; None for any other string."""
    if not _DURATION.fullmatch(text):
        return None
    total = 0
    for whole, fraction, unit in _PIECE.findall(text):
        total += int(whole or 0) * _UNITS[unit]
        if fraction:
            total += int(fraction) * _UNITS[unit] // 10 ** len(fraction)
    try:
        return Duration(-total if text.startswith("-") else total)
    except EvaluationError:
        return None


def parse_timestamp(text: str) -> Timestamp | None:
    """Returns the time in an RFC 3339 string; None for any other string. Raises `EvaluationError` for the year 0."""
    matched = _TIMESTAMP.fullmatch(text)
    if matched is None:
        return None
    year, month, day, hour, minute, second = (int(each) for each in matched.groups()[:6])
    fraction, sign, hours, minutes = matched.groups()[6:]
    try:
        moment = datetime(year or 1, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    if not year:
        raise EvaluationError("timestamp overflow")
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    if sign:
        shift = int(hours) * 3600 + int(minutes) * 60
        seconds += -shift if sign == "+" else shift
    return Timestamp(seconds * 10**9 + int((fraction or "0")[:9].ljust(9, "0")))


def duration_text(duration: Duration) -> str:
    """Returns a duration in seconds: `5400s`, `0.1s`."""
    whole, rest = divmod(abs(duration.nanoseconds), 10**9)
    sign = "-" if duration.nanoseconds < 0 else ""
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{sign}{whole}{fraction}s"


def timestamp_text(moment: Timestamp) -> str:
    """Returns a time in RFC 3339, with as many digits as needed."""
    seconds, rest = divmod(moment.nanoseconds, 10**9)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + f"{fraction}Z"


def part_of(moment: Timestamp, part: str, zone: str = "") -> int:
    """Returns a part of a time in a time zone, such as the year or the hours, by the name of CEL's function."""
    seconds, rest = divmod(moment.nanoseconds, 10**9)
    there = (_EPOCH + timedelta(seconds=seconds)).astimezone(_zone(zone))
    match part:
        case "getFullYear":
            return there.year
        case "getMonth":
            return there.month - 1
        case "getDayOfYear":
            return there.timetuple().tm_yday - 1
        case "getDate":
            return there.day
        case "getDayOfMonth":
            return there.day - 1
        case "getDayOfWeek":
            return there.isoweekday() % 7
        case "getHours":
            return there.hour
        case "getMinutes":
            return there.minute
        case "getSeconds":
            return there.second
        case _:
            return rest // 10**6


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    matched = _OFFSET.fullmatch(name)
    if matched is not None:
        shift = timedelta(hours=int(matched[2]), minutes=int(matched[3]))
        return timezone(-shift if matched[1] == "-" else shift)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None
