"""Tables for `kubectl get`: columns and rows. The rows of built-in kinds are in `_rows`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubewright.api import parse_time
from kubewright.cluster._kinds import JSONObject, ResourceType, TableColumn

__all__ = ["age", "human_duration", "table_columns", "table_row"]

_DEFAULT: Final = (
    TableColumn(name="Name", format="name"),
    TableColumn(name="Age", type="date"),
)


def table_columns(type_: ResourceType) -> list[JSONObject]:
    """The definitions of a kind's columns."""
    columns = type_.printer.columns if type_.printer is not None else _DEFAULT
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns
    ]


def table_row(type_: ResourceType, obj: JSONObject, now: datetime) -> list[Any]:
    """One object's cells."""
    if type_.printer is not None:
        return type_.printer.cells(obj, now)
    return [obj["metadata"]["name"], age(obj["metadata"].get("creationTimestamp"), now)]


def age(since: str | None, now: datetime) -> str:
    """How long ago something was, as kubectl shows it."""
    if not since:
        return "<unknown>"
    return human_duration((now - parse_time(since)).total_seconds())


def human_duration(seconds: float) -> str:
    """A length of time in two or three digits: `90s`, `5m30s`, `3h20m`, `2d5h`, `300d`, `2y10d`."""
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
