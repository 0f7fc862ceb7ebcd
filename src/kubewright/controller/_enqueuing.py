"""`Enqueuer`: decides whether a change adds a key to the queue: now, later, or not at all.

- A change that is only the event about the key's own write is dropped (`OwnWrites`).
- While a key is in a write loop, changes of the parts that it writes itself are delayed (`WriteLoops`).
- A change by another client may shorten the backoff of a failing key: immediately the first time, then after a second,
  then twice as long each time, up to a minute. A status that this operator wrote itself never does. A new spec and a
  deletion always do.

Every other change is added immediately.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright.cache import Change, ObjectKey, Snapshot
from kubewright.clock import Clock
from kubewright.controller._key_records import DeferredChange, KeyRecord, KeyRecords
from kubewright.controller._own_writes import OwnWrites
from kubewright.controller._write_loops import Loop, Part, WriteLoops, Written, part_of
from kubewright.queue import WorkQueue

__all__ = ["Enqueuer"]

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_NO_CAUSES: Final[frozenset[Part | None]] = frozenset()


class Enqueuer:
    """Adds the keys of one controller to its queue, and keeps their triggers until they run."""

    def __init__(
        self,
        queue: WorkQueue[ObjectKey],
        clock: Clock,
        records: KeyRecords | None = None,
        is_own_status: Callable[[Snapshot[Any]], bool] = lambda snapshot: False,
    ) -> None:
        self.own_writes = OwnWrites()
        self.loops = WriteLoops(clock)
        self._queue = queue
        self._now = clock.monotonic
        self._records = KeyRecords() if records is None else records
        self._is_own_status = is_own_status

    def add(
        self,
        key: ObjectKey,
        trigger: str,
        priority: int = 0,
        cause: ObjectKey | None = None,
        change: Change[Any] | None = None,
    ) -> None:
        """Requests a reconcile of the key. `cause` is the other object that changed, if there is one."""
        part: Part | None = None
        if change is not None and not change.initial and change.type != "resync":
            record = self._records.get(key)
            if record is not None and record.deferred is not None:
                record.deferred.append(DeferredChange(key, trigger, priority, cause, change))
                return
            if self.own_writes.is_echo(change, key):
                return
            part = part_of(change, other=cause is not None)
        if change is None or not change.initial:  # the initial list needs no record
            record = self._records.ensure(key)
            record.trigger, record.cause = trigger, cause
            if record.causes is None:
                record.causes = {part}
            else:
                record.causes.add(part)
        if part is not None and change is not None:
            if (pause := self.loops.wait(key, part)) > 0:
                self._queue.add_after(key, pause, priority=priority)
                return
            if self._queue.retries(key) and (delay := self._shorten_backoff(key, change)) != 0:
                if delay is not None:
                    self._queue.add_after(key, delay, priority=priority)
                return
        self._queue.add(key, priority=priority)

    def note_trigger(self, key: ObjectKey, trigger: str) -> None:
        """Sets the trigger of a key that nothing else has triggered."""
        record = self._records.ensure(key)
        if record.trigger is None:
            record.trigger = trigger

    def pending(self, key: ObjectKey) -> tuple[str, ObjectKey | None] | None:
        """Returns the trigger of a key that waits, and the other object that changed."""
        record = self._records.get(key)
        if record is None:
            return None
        if record.deferred:
            return record.deferred[-1].trigger, record.deferred[-1].cause
        return None if record.trigger is None else (record.trigger, record.cause)

    # A reconcile, in this order: `start`, `take_trigger`, `wrote`, `finish`, `release`.

    def start(self, key: ObjectKey) -> tuple[KeyRecord, set[Part | None] | frozenset[Part | None]]:
        """Returns the record of a key that starts to run, and the parts whose changes triggered it."""
        record = self._records.ensure(key)
        causes, record.causes = record.causes, None
        return record, _NO_CAUSES if causes is None else causes

    def take_trigger(self, record: KeyRecord, default: str) -> tuple[str, ObjectKey | None]:
        """Returns the trigger of a key that starts to run, and the other object that changed."""
        trigger, cause = record.trigger, record.cause
        record.trigger = record.cause = record.writes = None
        if record.deferred is None:
            record.deferred = []
        return default if trigger is None else trigger, cause

    def wrote(self, key: ObjectKey, part: Part, written: Written) -> None:
        """Records that a reconcile of the key has written this part of an object."""
        record = self._records.ensure(key)
        if record.writes is None:
            record.writes = {}
        record.writes[part] = written

    def finish(
        self, key: ObjectKey, record: KeyRecord, causes: set[Part | None] | frozenset[Part | None], *, failed: bool
    ) -> tuple[Loop, dict[Part, Written]] | None:
        """Returns the write loop that slows the key down, if this run was another round of it, and the run's writes.

        A failed run is not a round, but its retry is, with the same causes: writers in a loop often get conflicts.
        """
        writes, record.writes = record.writes or {}, None
        if failed:
            if causes:
                record.causes = {*(record.causes or ()), *causes}
            return None
        loop = self.loops.ran(key, causes, writes.keys())
        return None if loop is None else (loop, writes)

    def release(self, key: ObjectKey) -> None:
        """Adds the key again for changes that arrived during its run, except for those of its own writes.

        A server often sends the event before the answer to the write, and only the answer identifies the writer.
        """
        record = self._records.get(key)
        if record is None:
            return
        deferred, record.deferred = record.deferred, None
        self._records.drop_blank(key, record)
        for one in deferred or ():
            self.add(*one)

    def forget(self, key: ObjectKey) -> None:
        """Drops the state of an object that is gone."""
        self.loops.forget(key)
        self.succeeded(key)

    def succeeded(self, key: ObjectKey) -> None:
        """Records that the key no longer fails."""
        record = self._records.get(key)
        if record is not None:
            record.not_before = record.shortened_pause = 0.0
            self._records.drop_blank(key, record)

    def _shorten_backoff(self, key: ObjectKey, change: Change[Any]) -> float | None:
        """Returns the seconds until a failing key is retried for a change; None to leave its backoff as it is."""
        state = self._queue.state(key)
        if state.ready_in is None or state.running_for is not None:
            return 0.0
        if change.new is not None and self._is_own_status(change.new):
            return None
        now, record = self._now(), self._records.ensure(key)
        if record.shortened_pause and now < record.not_before:
            return record.not_before - now
        record.shortened_pause = min(record.shortened_pause * 2 or _FIRST_PAUSE, _LONGEST_PAUSE)
        record.not_before = now + record.shortened_pause
        return 0.0
