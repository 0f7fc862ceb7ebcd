"""`History`: how the last reconciles of the objects of a controller went, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TypeAlias

import msgspec

from kubewright.cache import ObjectKey
from kubewright.observe._reconcile import Reconcile, Write
from kubewright.observe._stats import Ending

__all__ = ["Entry", "History", "HistoryBounds"]

# Rough sizes, in bytes, of what is kept besides texts: an object's place, an entry, a write.
_OBJECT, _ENTRY, _WRITE = 130, 180, 160

Change: TypeAlias = tuple[Write, bytes | None, bytes]
"""A write, and the object's JSON before and after it."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One reconcile that has ended. Times are of the monotonic clock."""

    ended: float
    seconds: float
    waited: float
    ending: Ending
    attempt: int
    trigger: str
    cause: ObjectKey | None
    error: str
    writes: tuple[Write, ...]
    more_writes: int
    trace_id: str


class HistoryBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much a controller remembers. Whatever bound is met first counts; the least recent goes."""

    objects: int = 10_000
    bytes: int = 4 * 1024 * 1024
    """Of all entries together, as estimated."""
    results: int = 10
    """Of each object."""
    changes: int = 256
    """Writes of which it is still known what they changed."""
    change_bytes: int = 1024 * 1024


class History:
    """The last reconciles of each object: recorded in a microsecond, without looking at what is recorded.

    Belongs to one controller, and to its event loop.
    """

    def __init__(self, bounds: HistoryBounds | None = None) -> None:
        self.bounds = bounds or HistoryBounds()
        self.size = 0
        """Estimated bytes of the entries."""
        self.change_size = 0
        """Bytes of the objects that changes are told from."""
        # In order of use: an object that is reconciled again is put at the end.
        self._entries: dict[ObjectKey, tuple[Entry, ...]] = {}
        self._changes: deque[Change] = deque()

    def __len__(self) -> int:
        """How many objects are remembered."""
        return len(self._entries)

    def objects(self) -> list[ObjectKey]:
        """The objects, the most recently reconciled last."""
        return [*self._entries]

    def of(self, key: ObjectKey) -> tuple[Entry, ...]:
        """The last reconciles of an object, the newest last; none when it is not remembered."""
        return self._entries.get(key, ())

    def change_of(self, write: Write) -> Change | None:
        """What a write changed, if that is still known."""
        return next((change for change in self._changes if change[0] is write), None)

    def ended(self, reconcile: Reconcile, ending: Ending, *, ended: float, seconds: float, waited: float) -> None:
        """Remember a reconcile."""
        key, error, entries = reconcile.key, reconcile.error, self._entries
        earlier = entries.pop(key, ())
        if error and earlier and earlier[-1].error == error:
            error = earlier[-1].error  # the same text a thousand times is kept once
        entry = Entry(
            ended,
            seconds,
            waited,
            ending,
            reconcile.attempt,
            reconcile.trigger,
            reconcile.cause,
            error,
            reconcile.writes,
            reconcile.more_writes,
            reconcile.__dict__.get("trace_id", ""),
        )
        self.size += _size(entry)
        if earlier:
            if len(earlier) >= self.bounds.results:
                self.size -= _size(earlier[0])
                earlier = earlier[1:]
            entries[key] = (*earlier, entry)
        else:
            self.size += _OBJECT
            entries[key] = (entry,)
            if len(entries) > self.bounds.objects:
                self._make_room()
        if self.size > self.bounds.bytes:
            self._make_room()
        if reconcile.changes:
            self._keep(reconcile.changes)

    def _make_room(self) -> None:
        """Drop the least recent, some at a time: to find the first key of a dict costs more the more were dropped."""
        entries, bounds = self._entries, self.bounds
        while len(entries) > 1 and (len(entries) > bounds.objects or self.size > bounds.bytes):
            for key in [*islice(entries, max(len(entries) // 16, 1))]:
                self.size -= _OBJECT + sum(map(_size, entries.pop(key)))

    def _keep(self, changes: Sequence[Change]) -> None:
        kept = self._changes
        for change in changes:
            kept.append(change)
            self.change_size += _change_size(change)
        while len(kept) > self.bounds.changes or self.change_size > self.bounds.change_bytes:
            self.change_size -= _change_size(kept.popleft())


def _size(entry: Entry) -> int:
    return _ENTRY + len(entry.error) + _WRITE * len(entry.writes)


def _change_size(change: Change) -> int:
    return len(change[1] or b"") + len(change[2])
