"""Kinds and their printer columns.

`kinds_of` lists the kinds that a cluster serves, from its CustomResourceDefinitions and from discovery. A `Kind` has
a `Printer`, which computes the cells that `kubectl get` shows.
"""

from __future__ import annotations

from kubewright.console.kinds._columns import Column, Printer, custom_printer, printer_of
from kubewright.console.kinds._declared import (
    DeclaredForm,
    DeclaredSection,
    DeclaredStates,
    declared_form,
    declared_states,
)
from kubewright.console.kinds._kinds import Kind, kinds_of, served_version

__all__ = [
    "Column",
    "DeclaredForm",
    "DeclaredSection",
    "DeclaredStates",
    "Kind",
    "Printer",
    "custom_printer",
    "declared_form",
    "declared_states",
    "kinds_of",
    "printer_of",
    "served_version",
]
