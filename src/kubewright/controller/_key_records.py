"""`KeyRecord`: everything that a controller knows about one key besides the queue."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from kubewright.cache import Change, ObjectKey, Snapshot
from kubewright.controller._write_loops import Part, Written

__all__ = ["DeferredChange", "KeyRecord", "KeyRecords"]


class DeferredChange(NamedTuple):
    """A change that arrived while its key was running."""

    key: ObjectKey
    trigger: str
    priority: int
    cause: ObjectKey | None
    change: Change[Any]


class KeyRecord(msgspec.Struct, gc=False):
    """The state of one key. A record that equals a new one is dropped."""

    trigger: str | None = None
    """The trigger of the next reconcile."""
    cause: ObjectKey | None = None
    """The other object whose change triggered it."""
    causes: set[Part | None] | None = None
    """The parts whose changes triggered it; None means any other trigger."""
    deferred: list[DeferredChange] | None = None
    """Changes that arrived during the running reconcile; None if the key is not running."""
    writes: dict[Part, Written] | None = None
    """The parts that the running reconcile has written."""
    not_before: float = 0.0
    """The earliest time at which a change may shorten the backoff again."""
    shortened_pause: float = 0.0
    """The pause after the last change that shortened the backoff; 0 if none has."""
    revisit_at: float | None = None
    """The time at which the key is requeued, regardless of the result of its reconcile."""
    deleted: list[Snapshot[Any]] | None = None
    """Deleted objects for which the `deleted` callbacks have not run yet."""
    finalized: set[tuple[str, str]] | None = None
    """The uid and the name of finalizers whose handlers have succeeded."""
    undecodable: tuple[str, int, str] | None = None
    """The state of the object that was reported as undecodable."""


_BLANK: Final = KeyRecord()


class KeyRecords(dict[ObjectKey, KeyRecord]):
    """The records of one controller. Keys that are neither pending, running nor failing have none."""

    def ensure(self, key: ObjectKey) -> KeyRecord:
        """Returns the record of a key, and creates it if there is none."""
        record = self.get(key)
        if record is None:
            record = self[key] = KeyRecord()
        return record

    def drop_blank(self, key: ObjectKey, record: KeyRecord) -> None:
        """Drops the record of a key if it equals a new one."""
        if record == _BLANK:
            self.pop(key, None)
