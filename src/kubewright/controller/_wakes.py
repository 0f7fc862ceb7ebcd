"""`Wakes`: from a change to a key in the queue, now, later, or not at all.

- A change that is only the echo of the key's own write is dropped (`OwnWrites`).
- A change of what the key writes itself waits while the key is in a loop (`WriteLoops`).
- A change made by others may cut a failing key's backoff short: at once the first time, then after a second, then twice
  as long each time, up to a minute. A status that this operator wrote itself never does. A new spec and a deletion
  always do.

Everything else is added at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from kubewright.cache import Change, ObjectKey, Snapshot
from kubewright.clock import Clock
from kubewright.controller._own_writes import OwnWrites
from kubewright.controller._write_loops import Loop, Part, WriteLoops, Written, part_of
from kubewright.queue import WorkQueue

__all__ = ["Wakes"]

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0


class _Wake(NamedTuple):
    key: ObjectKey
    trigger: str
    priority: int
    cause: ObjectKey | None
    change: Change[Any]


class _Shortened(msgspec.Struct):
    """How often changes have cut the backoff of a key short."""

    not_before: float
    pause: float


class Wakes:
    """What wakes the keys of one controller, and what is remembered about it until they run."""

    def __init__(
        self,
        queue: WorkQueue[ObjectKey],
        clock: Clock,
        is_own_status: Callable[[Snapshot[Any]], bool] = lambda snapshot: False,
    ) -> None:
        self.own = OwnWrites()
        self.loops = WriteLoops(clock)
        self._queue = queue
        self._now = clock.monotonic
        self._is_own_status = is_own_status
        self._triggers: dict[ObjectKey, str] = {}
        self._objects: dict[ObjectKey, ObjectKey] = {}
        self._parts: dict[ObjectKey, set[Part | None]] = {}
        self._shortened: dict[ObjectKey, _Shortened] = {}
        self._during: dict[ObjectKey, list[_Wake]] = {}
        self._wrote: dict[ObjectKey, dict[Part, Written]] = {}

    # Waking

    def add(
        self,
        key: ObjectKey,
        trigger: str,
        priority: int = 0,
        cause: ObjectKey | None = None,
        change: Change[Any] | None = None,
    ) -> None:
        """Asks for a reconcile of the key. `cause` is the other object that changed, if there is one."""
        part: Part | None = None
        if change is not None and not change.initial and change.type != "resync":
            if (during := self._during.get(key)) is not None:
                during.append(_Wake(key, trigger, priority, cause, change))
                return
            if self.own.is_echo(change, key):
                return
            part = part_of(change, other=cause is not None)
        if priority >= 0 or trigger == "resync":  # the initial list needs no memory
            self._note(key, trigger, cause, part)
        if part is not None and change is not None:
            if (pause := self.loops.wait(key, part)) > 0:
                self._queue.add_after(key, pause, priority=priority)
                return
            if self._queue.retries(key) and (later := self._backoff(key, change)) != 0:
                if later is not None:
                    self._queue.add_after(key, later, priority=priority)
                return
        self._queue.add(key, priority=priority)

    def note_trigger(self, key: ObjectKey, trigger: str) -> None:
        """Notes why a key is there that nothing else has woken."""
        self._triggers.setdefault(key, trigger)

    def pending(self, key: ObjectKey) -> tuple[str, ObjectKey | None] | None:
        """Returns what has woken a key that waits, and which object it was."""
        if during := self._during.get(key):
            return during[-1].trigger, during[-1].cause
        trigger = self._triggers.get(key)
        return None if trigger is None else (trigger, self._objects.get(key))

    # Running

    def take(self, key: ObjectKey, otherwise: str) -> tuple[str, ObjectKey | None]:
        """Returns what woke a key that begins to run, and which object it was."""
        self._wrote.pop(key, None)
        self._during.setdefault(key, [])
        return self._triggers.pop(key, otherwise), self._objects.pop(key, None) if self._objects else None

    def begin(self, key: ObjectKey) -> set[Part | None]:
        """Returns the parts whose changes woke a key that begins to run; None stands for anything else."""
        return self._parts.pop(key, set())

    def wrote(self, key: ObjectKey, part: Part, written: Written) -> None:
        """Notes that a reconcile of the key has written this part of an object."""
        self._wrote.setdefault(key, {})[part] = written

    def end(self, key: ObjectKey, causes: set[Part | None], *, failed: bool) -> tuple[Loop, dict[Part, Written]] | None:
        """Returns the loop that the key is slowed down for, if this run was one more round of it; and its writes.

        A run that failed is no round: its retry is, for the same causes. Writers in a loop often meet conflicts.
        """
        writes = self._wrote.pop(key, {})
        if failed:
            if causes:
                self._parts.setdefault(key, set()).update(causes)
            return None
        loop = self.loops.ran(key, causes, writes.keys())
        return None if loop is None else (loop, writes)

    def release(self, key: ObjectKey) -> None:
        """The run is over. Changes that arrived during it wake the key now, unless its own writes made them.

        A server often sends the event before the answer to the write. Only the answer tells whose it was.
        """
        for wake in self._during.pop(key, ()):
            self.add(*wake)

    def forget(self, key: ObjectKey) -> None:
        """The object is gone."""
        self.loops.forget(key)
        self._shortened.pop(key, None)

    # Inside

    def _note(self, key: ObjectKey, trigger: str, cause: ObjectKey | None, part: Part | None) -> None:
        self._triggers[key] = trigger
        self._parts.setdefault(key, set()).add(part)
        if cause is not None:
            self._objects[key] = cause
        elif self._objects:
            self._objects.pop(key, None)

    def _backoff(self, key: ObjectKey, change: Change[Any]) -> float | None:
        """Returns how long the change of an object has to wait for a key that fails; None if it changes nothing."""
        state = self._queue.state(key)
        if state.ready_in is None or state.running_for is not None:
            return 0.0
        if change.new is not None and self._is_own_status(change.new):
            return None
        now, before = self._now(), self._shortened.get(key)
        if before is not None and now < before.not_before:
            return before.not_before - now
        pause = _FIRST_PAUSE if before is None else min(before.pause * 2, _LONGEST_PAUSE)
        self._shortened[key] = _Shortened(now + pause, pause)
        return 0.0

    def succeeded(self, key: ObjectKey) -> None:
        """The key does not fail any more."""
        self._shortened.pop(key, None)
