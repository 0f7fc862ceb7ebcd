"""Observability: metrics, traces, and the history of each object.

Nothing here is process-wide; everything belongs to one operator.

- Controllers and clients report to the `Observer`. It counts requests (`RequestStats`), remembers the last reconciles
  of each object (`History`), and starts spans if tracing is enabled (`Tracing`). It is always on and costs little:
  plain numbers and bounded memory.
- `Metrics` renders these numbers for Prometheus on each scrape, under controller-runtime's names. prometheus_client is
  imported by the first scrape.
- `inspect` returns everything that is known about one object: what triggered it, its state in the queue, how its last
  reconciles ended and what they wrote. `report` describes the whole operator: controllers and queues, caches and
  watches, leader, webhooks. `LogBook` keeps the last log records of each object. `DebugPages` serves all of this as
  JSON, and `OperatorClient` reads these pages from another process.
- `SlowReconciles`, `FormerFinalizers` and `UndeclaredWrites` only advise: they log warnings and change nothing.

Controllers report here, so this package is below them. It reads controllers, caches, recorders and electors through
protocols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.observe._debug import DebugPages, is_loopback
    from kubewright.observe._failing import FailingObject, FailingObjects, failing_objects
    from kubewright.observe._former_finalizers import FormerFinalizers
    from kubewright.observe._history import History, HistoryBounds, HistoryEntry
    from kubewright.observe._inspection import (
        CachedState,
        FieldChange,
        Inspection,
        Observed,
        QueueState,
        ReconcileRecord,
        WriteRecord,
        inspect,
    )
    from kubewright.observe._logbook import LogBook, LogBookBounds, LogLine
    from kubewright.observe._metrics import Metrics
    from kubewright.observe._observer import Observer
    from kubewright.observe._operator_client import (
        DEBUG_PATH,
        OperatorAddress,
        OperatorClient,
        OperatorError,
        OperatorTrust,
        read_token,
        tokens_of,
    )
    from kubewright.observe._reconcile import Reconcile, Write
    from kubewright.observe._report import (
        CacheReport,
        ControllerReport,
        KindName,
        LeaderReport,
        OperatorReport,
        WebhookReport,
        report,
    )
    from kubewright.observe._requests import RequestStats
    from kubewright.observe._slow_reconciles import RunningReconcile, SlowReconciles
    from kubewright.observe._sources import Sources
    from kubewright.observe._stats import BUGS, ControllerStats, Ending
    from kubewright.observe._tracing import Tracing
    from kubewright.observe._undeclared_writes import DeclaredController, DeclaredKind, UndeclaredWrites
    from kubewright.observe._webhooks import Review, WebhookStats

_MODULES = {
    "Write": "_reconcile",
    "BUGS": "_stats",
    "DEBUG_PATH": "_operator_client",
    "CacheReport": "_report",
    "CachedState": "_inspection",
    "ControllerReport": "_report",
    "ControllerStats": "_stats",
    "DebugPages": "_debug",
    "DeclaredController": "_undeclared_writes",
    "DeclaredKind": "_undeclared_writes",
    "Ending": "_stats",
    "FailingObject": "_failing",
    "FailingObjects": "_failing",
    "FieldChange": "_inspection",
    "FormerFinalizers": "_former_finalizers",
    "History": "_history",
    "HistoryBounds": "_history",
    "HistoryEntry": "_history",
    "Inspection": "_inspection",
    "KindName": "_report",
    "LeaderReport": "_report",
    "LogBook": "_logbook",
    "LogBookBounds": "_logbook",
    "LogLine": "_logbook",
    "Metrics": "_metrics",
    "Observed": "_inspection",
    "Observer": "_observer",
    "OperatorAddress": "_operator_client",
    "OperatorClient": "_operator_client",
    "OperatorError": "_operator_client",
    "OperatorReport": "_report",
    "OperatorTrust": "_operator_client",
    "QueueState": "_inspection",
    "Reconcile": "_reconcile",
    "ReconcileRecord": "_inspection",
    "RequestStats": "_requests",
    "Review": "_webhooks",
    "RunningReconcile": "_slow_reconciles",
    "SlowReconciles": "_slow_reconciles",
    "Sources": "_sources",
    "Tracing": "_tracing",
    "UndeclaredWrites": "_undeclared_writes",
    "WebhookReport": "_report",
    "WebhookStats": "_webhooks",
    "WriteRecord": "_inspection",
    "failing_objects": "_failing",
    "inspect": "_inspection",
    "is_loopback": "_debug",
    "read_token": "_operator_client",
    "report": "_report",
    "tokens_of": "_operator_client",
}

__all__ = [
    "BUGS",
    "DEBUG_PATH",
    "CacheReport",
    "CachedState",
    "ControllerReport",
    "ControllerStats",
    "DebugPages",
    "DeclaredController",
    "DeclaredKind",
    "Ending",
    "FailingObject",
    "FailingObjects",
    "FieldChange",
    "FormerFinalizers",
    "History",
    "HistoryBounds",
    "HistoryEntry",
    "Inspection",
    "KindName",
    "LeaderReport",
    "LogBook",
    "LogBookBounds",
    "LogLine",
    "Metrics",
    "Observed",
    "Observer",
    "OperatorAddress",
    "OperatorClient",
    "OperatorError",
    "OperatorReport",
    "OperatorTrust",
    "QueueState",
    "Reconcile",
    "ReconcileRecord",
    "RequestStats",
    "Review",
    "RunningReconcile",
    "SlowReconciles",
    "Sources",
    "Tracing",
    "UndeclaredWrites",
    "WebhookReport",
    "WebhookStats",
    "Write",
    "WriteRecord",
    "failing_objects",
    "inspect",
    "is_loopback",
    "read_token",
    "report",
    "tokens_of",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
