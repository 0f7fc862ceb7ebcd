"""The rows of built-in kinds in `kubectl get`."""

from __future__ import annotations

from collections.abc import Sequence

from kubewright.cluster._kinds import Printer, TableColumn

__all__ = ["printer_of"]


def printer_of(resource: str, columns: Sequence[TableColumn]) -> Printer | None:
    """How a resource is printed."""
    return None
