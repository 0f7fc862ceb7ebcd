"""Dry runs: what an operator would change, without changing it.

Every write is sent to the server as a dry run (`_writes`), so defaults, validation and admission apply. The server
forgets it, so this package keeps the result (`_simulation`) and shows it to the following reads (`_transport`) and to
the caches. `_run` reconciles every object until nothing is left to do. `_report` compares each written object with the
stored one.
"""

from __future__ import annotations

from kubewright.operator.dry_run._answers import CannotSimulate
from kubewright.operator.dry_run._declared import DryRunRefused
from kubewright.operator.dry_run._report import DryRunReport, ObjectChange, ReconcileFailure, ValueChange
from kubewright.operator.dry_run._run import dry_run

__all__ = [
    "CannotSimulate",
    "DryRunRefused",
    "DryRunReport",
    "ObjectChange",
    "ReconcileFailure",
    "ValueChange",
    "dry_run",
]
