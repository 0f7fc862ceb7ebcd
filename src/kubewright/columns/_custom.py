"""Prints custom resources with the columns of their definition."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from kubewright.api import parse_time
from kubewright.api.wire import canonical_json
from kubewright.columns._durations import human_duration
from kubewright.columns._jsonpath import find_values
from kubewright.columns._table import JSONObject, TableColumn

__all__ = ["CustomPrinter"]

_NAME: Final = TableColumn(name="Name", format="name")
_AGE: Final[JSONObject] = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


class CustomPrinter:
    """Prints one version of a custom resource. Default column: the age."""

    def __init__(self, columns: Sequence[JSONObject]) -> None:
        self._defined = list(columns) or [_AGE]
        self.columns = [_NAME, *(_column(column) for column in self._defined)]

    def cells(self, obj: JSONObject, now: datetime) -> list[Any]:
        """Returns one value for each column; None if the object has no value."""
        return [obj["metadata"]["name"], *(_cell(column, obj, now) for column in self._defined)]


def _column(column: JSONObject) -> TableColumn:
    path = column["jsonPath"]
    return TableColumn(
        name=column["name"],
        type=column["type"],
        format=column.get("format", ""),
        description=column.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        priority=column.get("priority", 0),
    )


def _cell(column: JSONObject, obj: JSONObject, now: datetime) -> Any:
    found = find_values(column["jsonPath"], obj)
    if not found or found[0] is None:
        return None
    value = found[0]
    match column["type"]:
        case "integer":
            return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            return _age(value, now)
        case _:
            return value if isinstance(value, str) else canonical_json(value).decode()


def _age(value: Any, now: datetime) -> str:
    if not isinstance(value, str):
        return "<invalid>"
    try:
        return human_duration((now - parse_time(value)).total_seconds())
    except ValueError:
        return "<invalid>"
