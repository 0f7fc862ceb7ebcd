"""The columns and rows of Table responses, which `kubectl get` shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.columns import TableColumn, age

__all__ = ["SCALE_PRINTER", "table_columns", "table_row"]

_DEFAULT: Final = (
    TableColumn(name="Name", format="name"),
    TableColumn(name="Age", type="date"),
)


class _ScalePrinter:
    """The columns of a Scale."""

    columns: Sequence[TableColumn] = (
        TableColumn(name="Name"),
        TableColumn(name="Desired", type="integer"),
        TableColumn(name="Available", type="integer"),
        TableColumn(name="Age"),
    )

    def cells(self, obj: JSONObject, now: datetime) -> list[Any]:
        desired, available = ((obj.get(part) or {}).get("replicas", 0) for part in ("spec", "status"))
        return [obj["metadata"]["name"], desired, available, age(obj["metadata"].get("creationTimestamp"), now)]


SCALE_PRINTER: Final = _ScalePrinter()


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
