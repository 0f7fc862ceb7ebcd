"""The reconcile timeline: what an operator reports about an object, as text.

A write is shown as a YAML diff if its values are available and visible to the viewer. Otherwise the timeline shows the
paths of the changed fields, while the operator still stores them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from kubewright.console.forms import DiffLine, diff_yaml
from kubewright.console.objects.states import State
from kubewright.console.operators import BeforeAfter, ObjectInspection
from kubewright.counts import counted
from kubewright.durations import format_duration
from kubewright.observe import FieldChange, QueueState, ReconcileRecord, WriteRecord

__all__ = [
    "RESULT_STATES",
    "ReconcileEntry",
    "WriteEntry",
    "ago",
    "elapsed",
    "queue_id",
    "queue_text",
    "reconcile_entries",
    "resource_of",
    "until",
]

_MAX_LINES: Final = 200

RESULT_STATES: Final = {
    "success": State.READY,
    "requeue": State.PROGRESSING,
    "requeue_after": State.PROGRESSING,
    "error": State.FAILING,
    "terminal_error": State.FAILING,
}
"""The displayed state of each reconcile result."""

_WORDS: Final = {
    "success": "succeeded",
    "requeue": "requeued",
    "requeue_after": "requeued with a delay",
    "error": "failed",
    "terminal_error": "failed, not retried,",
}
_TRIGGERS: Final = {
    "initial": "the operator's start",
    "added": "creation",
    "updated": "an update",
    "deleted": "deletion",
    "resync": "the periodic resync",
    "retry": "a retry after failure",
    "requeue": "its own requeue request",
    "external": "an external request",
}
_PAST: Final = {
    "create": "created",
    "update": "updated",
    "patch": "patched",
    "apply": "applied",
    "delete": "deleted",
    "deletecollection": "deleted all",
}


@dataclass(frozen=True)
class WriteEntry:
    """A write request."""

    record: WriteRecord
    text: str
    """For example `applied deployments.apps web`."""
    failed: bool
    answer: str
    """The HTTP status, or that there was no response."""
    lines: tuple[DiffLine, ...] | None = None
    """The YAML diff; None if the values are unknown or hidden from the viewer."""
    fields: tuple[FieldChange, ...] | None = None
    """The changed fields; None if unknown."""


@dataclass(frozen=True)
class ReconcileEntry:
    """One reconcile."""

    record: ReconcileRecord
    state: State
    text: str
    """For example `succeeded in 12 ms`."""
    why: str
    """The trigger, such as `Deployment default/web was updated`."""
    writes: tuple[WriteEntry, ...]

    @property
    def id(self) -> str:
        """Identifies the entry among those of the same object.

        Times are unsuitable: they are computed relative to now for each report, and differ by microseconds.
        """
        return f"{self.record.seconds!r} {self.record.attempt} {self.record.result} {self.record.trace}"


def reconcile_entries(inspected: ObjectInspection, may_show: Callable[[WriteRecord], bool]) -> list[ReconcileEntry]:
    """Returns the stored reconciles, newest first. `may_show` decides which writes show values."""
    return [
        ReconcileEntry(
            record=record,
            state=RESULT_STATES.get(record.result, State.UNKNOWN),
            text=f"{_WORDS.get(record.result, record.result)} in {format_duration(record.seconds)}"
            + (f", attempt {record.attempt}" if record.attempt > 1 else ""),
            why=_trigger_text(record),
            writes=tuple(
                _write_entry(write, inspected.values.get((number, place)), may_show)
                for place, write in enumerate(record.writes)
            ),
        )
        for number, record in enumerate(inspected.inspection.results)
    ]


def _trigger_text(record: ReconcileRecord) -> str:
    if record.cause:
        kind, _, what = record.trigger.rpartition(" ")
        return f"{kind} {record.cause} was {what}" if kind else f"{record.trigger} of {record.cause}"
    return _TRIGGERS.get(record.trigger, record.trigger or "an unknown trigger")


def _write_entry(
    record: WriteRecord, values: BeforeAfter | None, may_show: Callable[[WriteRecord], bool]
) -> WriteEntry:
    plural, _, part = record.resource.partition("/")
    text = f"{_PAST.get(record.verb, record.verb)} {plural} {record.name}" + (f", its {part}" if part else "")
    return WriteEntry(
        record=record,
        text=text,
        failed=not 200 <= record.status < 300,
        answer=str(record.status) if record.status else "no response",
        lines=_lines(*values) if values is not None and may_show(record) else None,
        fields=record.changes,
    )


@lru_cache(maxsize=32)
def _lines(before: bytes | None, after: bytes) -> tuple[DiffLine, ...]:
    # Cached, because an open page requests the same diffs repeatedly.
    old, new = None if before is None else _decoded(before), _decoded(after)
    found = diff_yaml(old, new, new)
    if len(found) > _MAX_LINES:
        found = [*found[:_MAX_LINES], DiffLine("gap", counted(len(found) - _MAX_LINES, "line"))]
    return tuple(found)


def _decoded(raw: bytes) -> dict[str, Any]:
    found = msgspec.json.decode(raw)
    return found if isinstance(found, dict) else {}


def resource_of(write: WriteRecord) -> str:
    """Returns the path of the written kind: `apps/deployments`, or `core/configmaps` for the core group."""
    plural, _, group = write.resource.partition("/")[0].partition(".")
    return f"{group or 'core'}/{plural}"


def queue_text(queue: QueueState, now: datetime) -> tuple[State, str]:
    """Describes the object's state in its controller's queue."""
    retries = f", after {counted(queue.retries, 'retry', 'retries')}" if queue.retries else ""
    if queue.state == "running":
        again = ", and queued again" if queue.runs_again else ""
        return State.PROGRESSING, f"reconciling, started {ago(queue.since, now)}{again}{retries}"
    if queue.state == "waiting":
        return State.PROGRESSING, f"waiting for a worker, queued {ago(queue.since, now)}{retries}"
    if queue.state == "delayed":
        state = State.FAILING if queue.retries else State.READY
        by = " by the resync" if queue.resync_at else ""
        return state, f"next reconcile {until(queue.next_at, now)}{by}{retries}"
    resync = f", next resync {until(queue.resync_at, now)}" if queue.resync_at else ""
    return State.READY, f"idle, waiting for changes{resync}"


def queue_id(queue: QueueState) -> tuple[object, ...]:
    """Returns what identifies a queue state for comparison, with times rounded to seconds."""
    times = (None if at is None else round(at.timestamp()) for at in (queue.since, queue.ready_at, queue.resync_at))
    return (queue.state, queue.retries, queue.runs_again, queue.trigger, queue.cause, *times)


def ago(at: datetime | None, now: datetime) -> str:
    """Returns a relative time: `4 s ago`, `1 min ago`."""
    if at is None:
        return "at an unknown time"
    seconds = int((now - at).total_seconds())
    return "just now" if seconds < 1 else f"{elapsed(seconds)} ago"


def until(at: datetime | None, now: datetime) -> str:
    """Returns a relative time: `in 4 s`, `in 1 min`."""
    if at is None:
        return "later"
    seconds = math.ceil((at - now).total_seconds())
    return "now" if seconds <= 0 else f"in {elapsed(seconds)}"


def elapsed(seconds: float) -> str:
    """Returns a duration in its largest unit: `4 s`, `1 min`, `2 h`, `3 d`."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"
