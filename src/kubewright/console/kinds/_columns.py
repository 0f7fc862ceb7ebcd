"""The columns of a list, as `kubectl get` shows them.

Custom resources have the columns of their definition, built-in kinds those of the API server. Cells of type `date`
contain timestamps instead of ages, so that the page can update ages by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from kubewright.columns import CustomPrinter, PathError, builtin_printer, find_values
from kubewright.columns import Printer as TablePrinter

__all__ = ["Column", "Printer", "custom_printer", "printer_of"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Rows contain its values under `field`."""

    field: str
    name: str
    type: str = "string"
    """`string`, `integer`, `number`, `boolean`, or `date` for timestamps in ISO format."""
    format: str = ""
    description: str = ""
    priority: int = 0
    """0: always shown. Greater values: shown only in wide lists."""

    @property
    def wide(self) -> bool:
        """Whether the column is shown only in wide lists."""
        return self.priority > 0


class Printer(Protocol):
    """Computes the cells of an object."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns in order, without name and namespace."""

    def cells(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """Returns one value per column, by its `field`; None if there is nothing to show. Never raises."""


_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_NEVER: Final = datetime.fromtimestamp(0, UTC)


class _Custom:
    """The columns of a CustomResourceDefinition."""

    def __init__(self, defined: Sequence[Mapping[str, Any]]) -> None:
        whole = [dict(column) for column in defined] or [dict(_AGE)]
        self._printer = CustomPrinter(whole)
        self._dates = {f"c{at}": one["jsonPath"] for at, one in enumerate(whole) if one["type"] == "date"}
        self.columns = _columns(self._printer.columns[1:], dates=self._dates)

    def cells(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        try:
            made = self._printer.cells(dict(obj), _NEVER)[1:]
        except (PathError, TypeError, ValueError, KeyError, OverflowError):
            made = [None] * len(self.columns)
        cells = {column.field: value for column, value in zip(self.columns, made, strict=True)}
        for name, path in self._dates.items():
            cells[name] = _moment(path, obj)
        return cells


class _BuiltIn:
    """The columns of a built-in kind. The name column comes first, except for events, where it is last."""

    def __init__(self, printer: TablePrinter) -> None:
        self._printer = printer
        self._shown = [at for at, one in enumerate(printer.columns) if one.name != "Name"]
        kept = [printer.columns[at] for at in self._shown]
        self._ages = {f"c{at}" for at, one in enumerate(kept) if one.name in ("Age", "Created At")}
        self.columns = _columns(kept, dates=self._ages)

    def cells(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        created = (obj.get("metadata") or {}).get("creationTimestamp")
        try:
            made = self._printer.cells(dict(obj), datetime.now(UTC))
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
            made = [None] * len(self._printer.columns)
        cells = {column.field: made[at] for column, at in zip(self.columns, self._shown, strict=True)}
        return cells | dict.fromkeys(self._ages, created)


def _columns(columns: Sequence[Any], *, dates: Any) -> list[Column]:
    return [
        Column(
            field=f"c{at}",
            name=column.name,
            type="date" if f"c{at}" in dates else column.type,
            format=column.format,
            description=column.description,
            priority=column.priority,
        )
        for at, column in enumerate(columns)
    ]


def _moment(path: str, obj: Mapping[str, Any]) -> str | None:
    try:
        found = find_values(path, obj)
    except (PathError, TypeError):
        return None
    return found[0] if found and isinstance(found[0], str) else None


def custom_printer(columns: Sequence[Mapping[str, Any]]) -> Printer:
    """Returns the printer for the `additionalPrinterColumns` of a version. Without columns it prints the age."""
    return _Custom(columns)


def printer_of(resource: str, api_version: str = "v1") -> Printer:
    """Returns the printer of a built-in resource (`deployments.apps`). Without columns it prints the age."""
    printer = builtin_printer(api_version, resource.partition(".")[0])
    return _Custom(()) if printer is None else _BuiltIn(printer)
