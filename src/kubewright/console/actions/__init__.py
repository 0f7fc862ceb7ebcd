"""Actions on objects beyond editing them: reconcile now, pause, scale, restart, kubectl commands, bulk changes.

`actions_of` returns the actions that a kind supports, as plain values. A page shows and sends them. `run_bulk` applies
one `BulkChange` to many objects, and returns a result for each.
"""

from __future__ import annotations

from kubewright.console.actions._actions import Action, actions_of, kubectl, scaled_to
from kubewright.console.actions._bulk import MAX_OBJECTS, BulkChange, BulkKind, BulkResult, Target, denied, run_bulk
from kubewright.console.actions._terminal import MAX_INPUT_BYTES, MISSING_VERB, Terminal, may_exec

__all__ = [
    "MAX_INPUT_BYTES",
    "MAX_OBJECTS",
    "MISSING_VERB",
    "Action",
    "BulkChange",
    "BulkKind",
    "BulkResult",
    "Target",
    "Terminal",
    "actions_of",
    "denied",
    "kubectl",
    "may_exec",
    "run_bulk",
    "scaled_to",
]
