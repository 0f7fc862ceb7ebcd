"""`History`: how the last reconciles of the objects of a controller went, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from struct import Struct
from typing import Final, TypeAlias

import msgspec

from kubewright.cache import ObjectKey
from kubewright.observe._reconcile import Reconcile, Write
from kubewright.observe._stats import Ending

__all__ = ["History", "HistoryBounds", "HistoryEntry"]

# Rough sizes, in bytes, of what is kept besides texts: an object's place, an entry, what it shares with none, a write.
_OBJECT, _ENTRY, _OWN, _WRITE = 80, 90, 120, 160

_TIMES: Final = Struct("ddd")
_SHARED_AT_MOST: Final = 1_000

Change: TypeAlias = tuple[Write, bytes | None, bytes]
"""A write, and the object's JSON before and after it."""


class HistoryEntry(msgspec.Struct, frozen=True, gc=False):
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


_What: TypeAlias = tuple[Ending, int, str, ObjectKey | None, str, tuple[Write, ...], int, str]
"""The fields of an entry after its times. Most reconciles have the same ones as many others, and share them."""


class _Kept(msgspec.Struct, frozen=True, gc=False):
    """An entry in a third of its space."""

    times: bytes
    what: _What
    size: int
    """Bytes, as estimated: fewer where `what` is shared, since nothing of it is of this reconcile alone."""

    def entry(self) -> HistoryEntry:
        ended, seconds, waited = _TIMES.unpack(self.times)
        return HistoryEntry(ended, seconds, waited, *self.what)


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
        self._kept: dict[ObjectKey, _Kept | tuple[_Kept, ...]] = {}
        self._shared: dict[_What, _What] = {}
        self._changes: deque[Change] = deque()

    def __len__(self) -> int:
        """How many objects are remembered."""
        return len(self._kept)

    def objects(self) -> list[ObjectKey]:
        """The objects, the most recently reconciled last."""
        return [*self._kept]

    def of(self, key: ObjectKey) -> tuple[HistoryEntry, ...]:
        """The last reconciles of an object, the newest last; none when it is not remembered."""
        return tuple([kept.entry() for kept in _several(self._kept.get(key, ()))])

    def change_of(self, write: Write) -> Change | None:
        """What a write changed, if that is still known."""
        return next((change for change in self._changes if change[0] is write), None)

    def ended(self, reconcile: Reconcile, ending: Ending, *, ended: float, seconds: float, waited: float) -> None:
        """Remember a reconcile."""
        key, kept = reconcile.key, self._kept
        before = kept.pop(key, None)
        new = self._shortened(reconcile, ending, _TIMES.pack(ended, seconds, waited), before)
        self.size += new.size
        if before is not None:
            earlier = _several(before)
            if len(earlier) >= self.bounds.results:
                self.size -= earlier[0].size
                earlier = earlier[1:]
            kept[key] = (*earlier, new)
        else:
            self.size += _OBJECT
            kept[key] = new
            if len(kept) > self.bounds.objects:
                self._make_room()
        if self.size > self.bounds.bytes:
            self._make_room()
        if reconcile.changes:
            self._keep(reconcile.changes)

    def _shortened(
        self, reconcile: Reconcile, ending: Ending, times: bytes, before: _Kept | tuple[_Kept, ...] | None
    ) -> _Kept:
        cause, error, writes = reconcile.cause, reconcile.error, reconcile.writes
        trace_id = reconcile.__dict__.get("trace_id", "")
        if cause or error or writes or trace_id:
            if error and before is not None and (last := _several(before)[-1].what[4]) == error:
                error = last  # the same text a thousand times is kept once
            what = ending, reconcile.attempt, reconcile.trigger, cause, error, writes, reconcile.more_writes, trace_id
            return _Kept(times, what, _ENTRY + _OWN + len(error) + _WRITE * len(writes))
        what = ending, reconcile.attempt, reconcile.trigger, None, "", (), 0, ""
        if len(self._shared) > _SHARED_AT_MOST:
            self._shared.clear()  # to share saves memory, it does not carry meaning
        return _Kept(times, self._shared.setdefault(what, what), _ENTRY)

    def _make_room(self) -> None:
        """Drop the least recent, some at a time: to find the first key of a dict costs more the more were dropped."""
        kept, bounds = self._kept, self.bounds
        while len(kept) > 1 and (len(kept) > bounds.objects or self.size > bounds.bytes):
            for key in [*islice(kept, max(len(kept) // 16, 1))]:
                self.size -= _OBJECT + sum(one.size for one in _several(kept.pop(key)))

    def _keep(self, changes: Sequence[Change]) -> None:
        kept = self._changes
        for change in changes:
            kept.append(change)
            self.change_size += _change_size(change)
        while len(kept) > self.bounds.changes or self.change_size > self.bounds.change_bytes:
            self.change_size -= _change_size(kept.popleft())


def _several(kept: _Kept | tuple[_Kept, ...]) -> tuple[_Kept, ...]:
    """Most objects have one entry, which stands there without a tuple around it."""
    return (kept,) if isinstance(kept, _Kept) else kept


def _change_size(change: Change) -> int:
    return len(change[1] or b"") + len(change[2])
