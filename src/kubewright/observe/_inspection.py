"""`inspect`: everything that is known about one object, as a typed snapshot that can be shown, sent as JSON and stored.

It contains names, times, results and the paths of changed fields, and never a value of a field, because objects contain
secrets. Error messages are those of the exceptions, cut and without credentials, as in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import msgspec

from kubewright.diff import ListKeys, diff
from kubewright.observe._stats import ControllerStats, Ending

if TYPE_CHECKING:
    from kubewright.api import ResourceInfo
    from kubewright.cache import ObjectKey, Snapshot
    from kubewright.clock import Clock
    from kubewright.observe._history import Change, History, HistoryEntry
    from kubewright.observe._reconcile import Write
    from kubewright.queue import KeyState, WorkQueue

__all__ = [
    "CachedState",
    "FieldChange",
    "Inspection",
    "Observed",
    "QueueState",
    "ReconcileRecord",
    "WriteRecord",
    "inspect",
]

_FIELDS_AT_MOST: Final = 50
_OPERATIONS: Final[dict[str, Literal["add", "remove", "replace"]]] = {"add": "add", "remove": "remove"}
_BOOKKEEPING: Final = ("/metadata/managedFields", "/metadata/resourceVersion", "/metadata/generation")


class Observed(Protocol):
    """The part of a controller that is inspected."""

    name: str
    stats: ControllerStats
    queue: WorkQueue[ObjectKey]
    history: History

    @property
    def info(self) -> ResourceInfo:
        """The kind that it reconciles."""

    @property
    def owns(self) -> Sequence[ResourceInfo]:
        """The kinds whose objects trigger their owner."""

    @property
    def concurrency(self) -> int:
        """The maximum number of concurrent reconciles."""

    @property
    def clock(self) -> Clock:
        """The clock of its history and queue."""

    def snapshot(self, key: ObjectKey) -> Snapshot[Any] | None:
        """Returns the object from the cache."""

    @property
    def resync_in(self) -> float | None:
        """Seconds until every object is reconciled again; None without a resync."""

    def write_loop(self, key: ObjectKey) -> str:
        """Describes the write loop that the key is slowed down for; empty for most keys."""

    def paused(self, key: ObjectKey) -> str:
        """Returns which annotation pauses the object; empty for most objects."""

    @property
    def pause_annotation(self) -> str:
        """The annotation that pauses objects."""

    @property
    def paused_objects(self) -> int:
        """The number of paused objects."""

    @property
    def absent_kinds(self) -> Sequence[ResourceInfo]:
        """The optional kinds that the cluster does not have now."""

    def pending(self, key: ObjectKey) -> tuple[str, ObjectKey | None] | None:
        """Returns the trigger of a waiting key, and the object that caused it; None if they are not remembered."""


class FieldChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The path of one field that a write changed, without values."""

    op: Literal["add", "remove", "replace"]
    path: str


class WriteRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A write request of a reconcile."""

    verb: str
    resource: str
    namespace: str = ""
    name: str = ""
    status: int
    """The HTTP status of the response; 0 if there was none."""
    seconds: float
    changes: tuple[FieldChange, ...] | None = None
    """The changed fields, at most 50; None if they are not known, or no longer kept."""


class ReconcileRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A finished reconcile."""

    result: Ending
    trigger: str
    """What triggered it: "initial", "updated", "Deployment deleted", "resync", "retry", …"""
    cause: str = ""
    """The object that triggered it, if it was another one."""
    woken_at: datetime
    began_at: datetime
    ended_at: datetime
    seconds: float
    attempt: int
    error: str = ""
    writes: tuple[WriteRecord, ...] = ()
    more_writes: int = 0
    """The number of writes beyond the first 50, which are not kept."""
    trace: str = ""
    """The id of its trace, if its log records or requests carry one."""


class QueueState(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of the key in the queue."""

    state: Literal["idle", "waiting", "running", "delayed"]
    since: datetime | None = None
    """Since when it waits or runs."""
    ready_at: datetime | None = None
    """When its delay ends: its next retry, or the requested time."""
    resync_at: datetime | None = None
    """When a resync reconciles it, if nothing else does before."""
    runs_again: bool = False
    """Whether it will run again after the current run."""
    priority: int | None = None
    retries: int = 0
    """How often it was retried since it last succeeded."""
    trigger: str = ""
    """What triggered it, while it waits."""
    cause: str = ""

    @property
    def next_at(self) -> datetime | None:
        """When it is reconciled again without a change: the earliest of its retry, its requested time and a resync."""
        return min((at for at in (self.ready_at, self.resync_at) if at is not None), default=None)


class CachedState(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The object in the cache."""

    uid: str
    resource_version: str
    generation: int = 0
    deleting: bool = False
    problem: str = ""
    """Why it cannot be used; empty if it can."""


class Inspection(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Everything that is known about one object at one moment."""

    controller: str
    api_version: str
    kind: str
    namespace: str = ""
    name: str
    at: datetime
    cached: CachedState | None = None
    """None if the object is not in the cache: it is gone, or never existed."""
    queue: QueueState
    write_loop: str = ""
    """Why changes of this object are delayed: it keeps triggering itself. Empty otherwise."""
    paused: str = ""
    """Which annotation pauses the object, and whether its deletion waits. Empty if it is not paused."""
    absent_kinds: tuple[str, ...] = ()
    """The optional kinds of the controller that the cluster does not have now."""
    last_error: str = ""
    """The error of the newest remembered reconcile that failed."""
    last_error_at: datetime | None = None
    results: tuple[ReconcileRecord, ...] = ()
    """The last reconciles, the newest first. Empty if none is remembered."""

    @property
    def attempt(self) -> int:
        """The attempt of the newest reconcile; 0 if none is remembered."""
        return self.results[0].attempt if self.results else 0

    @property
    def last_trigger(self) -> str:
        """The last trigger: that of the waiting key, or that of the newest reconcile."""
        newest = self.queue if self.queue.trigger else self.results[0] if self.results else None
        if newest is None:
            return ""
        return f"{newest.trigger} ({newest.cause})" if newest.cause else newest.trigger

    @property
    def next_retry(self) -> datetime | None:
        """When it will be reconciled again without a change, if ever."""
        return self.queue.next_at


def inspect(controller: Observed, key: ObjectKey) -> Inspection:
    """Returns everything that a controller knows about a key. Call it in the controller's event loop."""
    now, monotonic, info = controller.clock.now(), controller.clock.monotonic(), controller.info

    def moment(at: float) -> datetime:
        return now + timedelta(seconds=at - monotonic)

    entries = controller.history.of(key)
    results = tuple(_result(entry, controller.history, moment(entry.ended)) for entry in reversed(entries))
    failed = next((result for result in results if result.error), None)
    return Inspection(
        controller=controller.name,
        api_version=info.api_version,
        kind=info.kind,
        namespace=key.namespace,
        name=key.name,
        at=now,
        cached=_cached(controller.snapshot(key)),
        queue=_queue(controller.queue.state(key), controller.pending(key), controller.resync_in, now),
        write_loop=controller.write_loop(key),
        paused=controller.paused(key),
        absent_kinds=tuple(str(info) for info in controller.absent_kinds),
        last_error=failed.error if failed else "",
        last_error_at=failed.ended_at if failed else None,
        results=results,
    )


def _cached(snapshot: Snapshot[Any] | None) -> CachedState | None:
    if snapshot is None:
        return None
    return CachedState(
        uid=snapshot.uid,
        resource_version=str(snapshot.resource_version),
        generation=snapshot.generation,
        deleting=snapshot.deleting,
        problem=snapshot.problem,
    )


def _queue(
    state: KeyState, pending: tuple[str, ObjectKey | None] | None, resync_in: float | None, now: datetime
) -> QueueState:
    what: Literal["idle", "waiting", "running", "delayed"] = "idle"
    span: float | None = None
    if state.running_for is not None:
        what, span = "running", state.running_for
    elif state.waiting_for is not None:
        what, span = "waiting", state.waiting_for
    elif state.ready_in is not None:
        what = "delayed"
    trigger, cause = pending or ("", None)
    return QueueState(
        state=what,
        since=None if span is None else now - timedelta(seconds=span),
        ready_at=None if state.ready_in is None else now + timedelta(seconds=state.ready_in),
        resync_at=_earlier(resync_in, state.ready_in, now) if what in ("idle", "delayed") else None,
        runs_again=what == "running" and (state.waiting_for is not None or pending is not None),
        priority=state.priority,
        retries=state.retries,
        trigger=trigger,
        cause=_text(cause),
    )


def _earlier(resync_in: float | None, ready_in: float | None, now: datetime) -> datetime | None:
    if resync_in is None or (ready_in is not None and resync_in >= ready_in):
        return None
    return now + timedelta(seconds=resync_in)


def _result(entry: HistoryEntry, history: History, ended_at: datetime) -> ReconcileRecord:
    began_at = ended_at - timedelta(seconds=entry.seconds)
    return ReconcileRecord(
        result=entry.ending,
        trigger=entry.trigger,
        cause=_text(entry.cause),
        woken_at=began_at - timedelta(seconds=entry.waited),
        began_at=began_at,
        ended_at=ended_at,
        seconds=entry.seconds,
        attempt=entry.attempt,
        error=entry.error,
        writes=tuple(_write(write, history.change_of(write)) for write in entry.writes),
        more_writes=entry.more_writes,
        trace=entry.trace_id,
    )


def _write(write: Write, change: Change | None) -> WriteRecord:
    return WriteRecord(
        verb=write.verb,
        resource=write.resource,
        namespace=write.namespace,
        name=write.name,
        status=write.status,
        seconds=write.seconds,
        changes=None if change is None else tuple(islice(_changes(*change[1:]), _FIELDS_AT_MOST)),
    )


def _changes(before: bytes | None, after: bytes) -> Iterator[FieldChange]:
    old: Any = {} if before is None else msgspec.json.decode(before)
    for operation in diff(ListKeys(Any), old, old, msgspec.json.decode(after)):
        if not operation["path"].startswith(_BOOKKEEPING):
            yield FieldChange(op=_OPERATIONS.get(operation["op"], "replace"), path=operation["path"])


def _text(key: ObjectKey | None) -> str:
    return "" if key is None else str(key)
