"""`History`: the results of the last reconciles of each object, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from struct import Struct
from typing import Final, TypeAlias

import msgspec

from kubewright.cache import ObjectKey
from kubewright.interning import InternTable
from kubewright.lru import LRUMemory
from kubewright.observe._reconcile import Reconcile, Write
from kubewright.observe._stats import FAILED, Ending

__all__ = ["History", "HistoryBounds", "HistoryEntry"]

# Estimated sizes in bytes, without strings: an object, an entry, the part of an entry that is not shared, a write.
_OBJECT, _ENTRY, _OWN, _WRITE = 128, 90, 120, 160

_TIMES: Final = Struct("ddd")
_SHARED_AT_MOST: Final = 1_000

Change: TypeAlias = tuple[Write, bytes | None, bytes]
"""A write, and the object's JSON before and after it."""


class HistoryEntry(msgspec.Struct, frozen=True, gc=False):
    """One finished reconcile. Times are of the monotonic clock."""

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


_What: TypeAlias = tuple[Ending, int, str, ObjectKey | None, str, tuple[Write, ...], int, str]
"""The fields of an entry after its times. Many reconciles have the same fields and share them."""


class _Kept(msgspec.Struct, frozen=True, gc=False):
    """An entry in a compact form, which takes a third of the memory."""

    times: bytes
    what: _What
    size: int
    """Estimated bytes. Smaller if `what` is shared."""

    def entry(self) -> HistoryEntry:
        ended, seconds, waited = _TIMES.unpack(self.times)
        return HistoryEntry(ended, seconds, waited, *self.what)


class HistoryBounds(msgspec.Struct, frozen=True, kw_only=True):
    """How much a controller remembers. The first bound that is reached counts; the least recent objects are dropped."""

    objects: int = 10_000
    bytes: int = 4 * 1024 * 1024
    """The estimated size of all entries."""
    results: int = 10
    """The number of results of each object."""
    changes: int = 256
    """The number of writes whose changes are kept."""
    change_bytes: int = 1024 * 1024


class History:
    """The last reconciles of each object. Recording takes a few microseconds, because nothing is decoded or compared.

    Belongs to one controller and its event loop.
    """

    def __init__(self, bounds: HistoryBounds | None = None) -> None:
        self.bounds = bounds or HistoryBounds()
        self.change_size = 0
        """The size of the objects that changes are computed from, in bytes."""
        self._kept: LRUMemory[ObjectKey, _Kept | tuple[_Kept, ...]] = LRUMemory(
            self.bounds.objects, max_weight=self.bounds.bytes, weigh=_size
        )
        self._shared = InternTable(_SHARED_AT_MOST)
        self._changes: deque[Change] = deque()
        self._failing_since: dict[ObjectKey, float] = {}

    def __len__(self) -> int:
        """Returns how many objects are remembered."""
        return len(self._kept)

    @property
    def size(self) -> int:
        """Estimated bytes of the entries."""
        return int(self._kept.weight)

    def objects(self) -> list[ObjectKey]:
        """Returns the objects, the most recently reconciled last."""
        return self._kept.keys()

    def of(self, key: ObjectKey) -> tuple[HistoryEntry, ...]:
        """Returns the last reconciles of an object, the newest last; empty if the object is not remembered."""
        return tuple([kept.entry() for kept in _as_tuple(self._kept.peek(key) or ())])

    def failing(self) -> list[tuple[ObjectKey, float]]:
        """Returns the remembered objects whose last reconcile failed, and since when, on the monotonic clock."""
        self._forget_dropped()
        return [*self._failing_since.items()]

    def _forget_dropped(self) -> None:
        dropped = [key for key in self._failing_since if self._kept.peek(key) is None]
        for key in dropped:
            del self._failing_since[key]

    def newest(self, key: ObjectKey) -> HistoryEntry | None:
        """Returns the last reconcile of an object; None if the object is not remembered."""
        kept = self._kept.peek(key)
        return None if kept is None else _as_tuple(kept)[-1].entry()

    def change_of(self, write: Write) -> Change | None:
        """Returns the change of a write, or None if it is no longer kept."""
        return next((change for change in self._changes if change[0] is write), None)

    def ended(self, reconcile: Reconcile, ending: Ending, *, ended: float, seconds: float, waited: float) -> None:
        """Records a finished reconcile."""
        key = reconcile.key
        before = self._kept.peek(key)
        new = self._shortened(reconcile, ending, _TIMES.pack(ended, seconds, waited), before)
        self._kept.put(key, new if before is None else (*_as_tuple(before), new)[-self.bounds.results :])
        if ending not in FAILED:
            self._failing_since.pop(key, None)
        elif key not in self._failing_since:
            if len(self._failing_since) >= 2 * self.bounds.objects:  # rarely, because it looks at all of them
                self._forget_dropped()
            self._failing_since[key] = ended
        if reconcile.changes:
            self._keep(reconcile.changes)

    def _shortened(
        self, reconcile: Reconcile, ending: Ending, times: bytes, before: _Kept | tuple[_Kept, ...] | None
    ) -> _Kept:
        cause, error, writes = reconcile.cause, reconcile.error, reconcile.writes
        trace_id = reconcile.__dict__.get("trace_id", "")
        if cause or error or writes or trace_id:
            if error and before is not None and (last := _as_tuple(before)[-1].what[4]) == error:
                error = last  # an error that repeats is stored once
            what = ending, reconcile.attempt, reconcile.trigger, cause, error, writes, reconcile.more_writes, trace_id
            return _Kept(times, what, _ENTRY + _OWN + len(error) + _WRITE * len(writes))
        what = ending, reconcile.attempt, reconcile.trigger, None, "", (), 0, ""
        return _Kept(times, self._shared.intern(what), _ENTRY)

    def _keep(self, changes: Sequence[Change]) -> None:
        kept = self._changes
        for change in changes:
            kept.append(change)
            self.change_size += _change_size(change)
        while len(kept) > self.bounds.changes or self.change_size > self.bounds.change_bytes:
            self.change_size -= _change_size(kept.popleft())


def _as_tuple(kept: _Kept | tuple[_Kept, ...]) -> tuple[_Kept, ...]:
    """Returns the entries as a tuple. Most objects have one entry, which is stored without a tuple."""
    return (kept,) if isinstance(kept, _Kept) else kept


def _size(kept: _Kept | tuple[_Kept, ...]) -> int:
    """Returns the estimated bytes of an object's entries."""
    return _OBJECT + (kept.size if isinstance(kept, _Kept) else sum([one.size for one in kept]))


def _change_size(change: Change) -> int:
    return len(change[1] or b"") + len(change[2])
