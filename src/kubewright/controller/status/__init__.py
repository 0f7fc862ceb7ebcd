"""Status: writes the status and the conditions of the reconciled object.

Each controller declares its own fields by server-side apply at /status, under its own field manager. `_writer` is the
entry point of the contexts, `_fields` decides which fields are declared (pure functions), `_applier` sends requests.
`status_of` and `status_changes` read and compare plain statuses.
"""

from __future__ import annotations

from kubewright.controller.status._applier import StatusApplier, StatusDeclarations, status_manager
from kubewright.controller.status._declaration import Declaration, FieldConflict
from kubewright.controller.status._plain_status import refuse_changed_status, status_changes, status_of
from kubewright.controller.status._writer import PendingConditions, StatusTarget, StatusWriter, WriteKind

__all__ = [
    "Declaration",
    "FieldConflict",
    "PendingConditions",
    "StatusApplier",
    "StatusDeclarations",
    "StatusTarget",
    "StatusWriter",
    "WriteKind",
    "refuse_changed_status",
    "status_changes",
    "status_manager",
    "status_of",
]
