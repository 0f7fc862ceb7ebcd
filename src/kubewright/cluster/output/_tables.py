"""The columns and rows of Table responses, which `kubectl get` shows."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.columns import TableColumn, age

__all__ = ["table_columns", "table_row"]

_DEFAULT: Final = (
    TableColumn(name="Name", format="name"),
    TableColumn(name="Age", type="date"),
)


def table_columns(type_: ResourceType) -> list[JSONObject]:
    """Returns the column definitions of a kind."""
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
    """Returns the cells of one object."""
    if type_.printer is not None:
        return type_.printer.cells(obj, now)
    return [obj["metadata"]["name"], age(obj["metadata"].get("creationTimestamp"), now)]
