"""The reconcile timeline: what an operator knows about an object, in words. Pure.

What a write changed is told as lines of YAML where its values are inspected and may be shown; otherwise as the paths of
the fields; and not at all where the operator does not remember it any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from kubewright.console.forms import DiffLine, diff_yaml
from kubewright.console.objects._states import State
from kubewright.console.operators import BeforeAfter, ObjectInspection
from kubewright.durations import format_age, format_duration
from kubewright.observe import FieldChange, QueueState, ReconcileRecord, WriteRecord

__all__ = ["ReconcileEntry", "WriteEntry", "ago", "queue_id", "queue_text", "reconcile_entries", "resource_of", "until"]

_LINES_AT_MOST: Final = 200

_STATES: Final = {
    "success": State.READY,
    "requeue": State.PROGRESSING,
    "requeue_after": State.PROGRESSING,
    "error": State.FAILING,
    "terminal_error": State.FAILING,
}
_WORDS: Final = {
    "success": "succeeded",
    "requeue": "asked to come back",
    "requeue_after": "asked to come back later",
    "error": "failed",
    "terminal_error": "failed for good",
}
_TRIGGERS: Final = {
    "initial": "the start of the operator",
    "added": "its creation",
    "updated": "a change of it",
    "deleted": "its deletion",
    "resync": "the regular resync",
    "retry": "the failure before",
    "requeue": "its own wish to come back",
    "external": "somebody's wish",
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
    """A request that was to change something."""

    record: WriteRecord
    text: str
    """`applied deployments.apps web`."""
    failed: bool
    answer: str
    """What the API server said: `200`, or that nothing came."""
    lines: tuple[DiffLine, ...] | None = None
    """What it changed, as YAML; None when the values are not inspected, or not for this viewer."""
    fields: tuple[FieldChange, ...] | None = None
    """Which fields it changed; None when that is not inspected."""


@dataclass(frozen=True)
class ReconcileEntry:
    """One reconcile."""

    record: ReconcileRecord
    state: State
    text: str
    """`succeeded in 12 ms`."""
    why: str
    """What woke it: `Deployment default/web was updated`."""
    writes: tuple[WriteEntry, ...]

    @property
    def id(self) -> str:
        """What tells it from the other entries of the same object.

        Not its time: that is reckoned back from now each time that somebody asks, and differs by microseconds.
        """
        return f"{self.record.seconds!r} {self.record.attempt} {self.record.result} {self.record.trace}"


def reconcile_entries(inspected: ObjectInspection, may_show: Callable[[WriteRecord], bool]) -> list[ReconcileEntry]:
    """The reconciles that are remembered, the newest first. `may_show` decides whose values may be told."""
    return [
        ReconcileEntry(
            record=record,
            state=_STATES.get(record.result, State.UNKNOWN),
            text=f"{_WORDS.get(record.result, record.result)} in {format_duration(record.seconds)}"
            + (f", attempt {record.attempt}" if record.attempt > 1 else ""),
            why=_why(record),
            writes=tuple(
                _write_entry(write, inspected.values.get((number, place)), may_show)
                for place, write in enumerate(record.writes)
            ),
        )
        for number, record in enumerate(inspected.inspection.results)
    ]


def _why(record: ReconcileRecord) -> str:
    if record.cause:
        kind, _, what = record.trigger.rpartition(" ")
        return f"{kind} {record.cause} was {what}" if kind else f"{record.trigger} of {record.cause}"
    return _TRIGGERS.get(record.trigger, record.trigger or "something that is not remembered")


def _write_entry(
    record: WriteRecord, values: BeforeAfter | None, may_show: Callable[[WriteRecord], bool]
) -> WriteEntry:
    plural, _, part = record.resource.partition("/")
    text = f"{_PAST.get(record.verb, record.verb)} {plural} {record.name}" + (f", its {part}" if part else "")
    return WriteEntry(
        record=record,
        text=text,
        failed=not 200 <= record.status < 300,
        answer=str(record.status) if record.status else "no answer",
        lines=_lines(*values) if values is not None and may_show(record) else None,
        fields=record.changes,
    )


@lru_cache(maxsize=32)
def _lines(before: bytes | None, after: bytes) -> tuple[DiffLine, ...]:
    # Remembered: a page that is open asks for the same ones again and again.
    old, new = None if before is None else _decoded(before), _decoded(after)
    found = diff_yaml(old, new, new)
    if len(found) > _LINES_AT_MOST:
        found = [*found[:_LINES_AT_MOST], DiffLine("gap", f"{len(found) - _LINES_AT_MOST} lines")]
    return tuple(found)


def _decoded(raw: bytes) -> dict[str, Any]:
    found = msgspec.json.decode(raw)
    return found if isinstance(found, dict) else {}


def resource_of(write: WriteRecord) -> str:
    """The path of the kind that was written: `apps/deployments`, of the core group `core/configmaps`."""
    plural, _, group = write.resource.partition("/")[0].partition(".")
    return f"{group or 'core'}/{plural}"


def queue_text(queue: QueueState, now: datetime) -> tuple[State, str]:
    """Where the object is in its controller's queue, in a sentence."""
    retries = f", after {_counted(queue.retries, 'retry', 'retries')}" if queue.retries else ""
    if queue.state == "running":
        again = ", and once more after that" if queue.runs_again else ""
        return State.PROGRESSING, f"being reconciled since {ago(queue.since, now)}{again}{retries}"
    if queue.state == "waiting":
        return State.PROGRESSING, f"waiting for a worker since {ago(queue.since, now)}{retries}"
    if queue.state == "delayed":
        state = State.FAILING if queue.retries else State.READY
        resync = f", or at the resync {until(queue.resync_at, now)}" if queue.resync_at else ""
        return state, f"next reconcile {until(queue.ready_at, now)}{resync}{retries}"
    return State.READY, "nothing to do until something changes"


def queue_id(queue: QueueState) -> tuple[object, ...]:
    """What makes two states of the queue the same, for those who look: times that differ by a breath do not count."""
    times = (None if at is None else round(at.timestamp()) for at in (queue.since, queue.ready_at, queue.resync_at))
    return (queue.state, queue.retries, queue.runs_again, queue.trigger, queue.cause, *times)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def ago(at: datetime | None, now: datetime) -> str:
    """`3m ago`."""
    if at is None:
        return "some time ago"
    seconds = (now - at).total_seconds()
    return "just now" if seconds < 1 else f"{format_age(seconds)} ago"


def until(at: datetime | None, now: datetime) -> str:
    """`in 3m20s`."""
    if at is None:
        return "later"
    seconds = (at - now).total_seconds()
    return "now" if seconds <= 0 else f"in {format_duration(seconds)}"
