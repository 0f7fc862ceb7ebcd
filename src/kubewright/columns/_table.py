"""The contract of a printer: columns, and one row of cells for each object."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, TypeAlias

import msgspec

__all__ = ["JSONObject", "Printer", "TableColumn"]

JSONObject: TypeAlias = dict[str, Any]
"""An object as JSON, with the field names of the wire."""


class TableColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a Table, as `kubectl get` shows it. Columns with a priority above 0 appear only in wide output."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Printer(Protocol):
    """Prints the objects of one kind as table rows."""

    @property
    def columns(self) -> Sequence[TableColumn]:
        """The columns, in order."""

    def cells(self, obj: JSONObject, now: datetime) -> list[Any]:
        """Returns one value for each column."""
