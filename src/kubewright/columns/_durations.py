"""Ages and durations in the format of kubectl."""

from __future__ import annotations

from datetime import datetime

from kubewright.api import parse_time

__all__ = ["age", "human_duration"]


def age(since: str | None, now: datetime) -> str:
    """Returns how long ago an RFC 3339 time was; `<unknown>` if it is empty."""
    if not since:
        return "<unknown>"
    return human_duration((now - parse_time(since)).total_seconds())


def human_duration(seconds: float) -> str:
    """Returns a duration with two or three digits: `90s`, `5m30s`, `3h20m`, `2d5h`, `300d`, `2y10d`."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 120:
        return f"{whole}s"
    minutes = whole // 60
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if days < 365 * 8 else f"{years}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
