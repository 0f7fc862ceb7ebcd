"""`WriteLoops`: keys that are triggered only by changes of parts that their own reconciles write.

Two controllers that set one status field to different values trigger each other, and so do two that each write the
current time. Neither would ever stop. A round of a loop is a reconcile whose every cause is a change of a part of an
object that the same reconcile then writes again. After 20 rounds in ten seconds, triggers by these parts are delayed:
by 10 seconds, then twice as long each time, up to a minute. The loop ends when a reconcile has nothing to write there.

A new spec, a deletion, another object, a resync and a retry are never part of a loop, and are never delayed. So the
last status of a rollout is written immediately, because its cause is another object.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from kubewright.api import Object
from kubewright.backoff import doubled
from kubewright.cache import Change, ObjectKey, Snapshot
from kubewright.clock import Clock
from kubewright.lru import LRUMemory

__all__ = ["Loop", "Part", "PartName", "WriteLoops", "Written", "part_of", "written_part"]

PartName: TypeAlias = Literal["status", "metadata", "spec", "object"]

LIMIT: Final = 20
"""Rounds within `WINDOW` seconds after which triggers are delayed."""
WINDOW: Final = 10.0
FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 60.0
_FORGET_AFTER: Final = 600.0
_REPORT_INTERVAL: Final = 3600.0
_REMEMBERED: Final = 10_000


class Part(NamedTuple):
    """A part of an object that a write or a change affects."""

    kind: type[Object]
    key: ObjectKey
    part: PartName

    def __str__(self) -> str:
        whose = "" if self.part == "object" else f"the {self.part} of "
        return f"{whose}{self.kind.__name__} {self.key}"


class Written(NamedTuple):
    """A write of a part: the object before and after it, and the field managers whose fields it took over."""

    before: bytes | None
    after: bytes
    managers: tuple[str, ...] = ()


def part_of(change: Change[Any], *, other: bool = False) -> Part | None:
    """Returns the part of an object that changed; None for a change that is never part of a loop.

    A deletion is never part of a loop, nor is a new spec of the reconciled object. A new spec of another object can be.
    """
    old, new = change.old, change.new
    if change.type != "updated" or old is None or new is None or old.uid != new.uid or old.deleting != new.deleting:
        return None
    if not new.generation:  # a kind without a spec
        return Part(new.kind, change.key, "object")
    if old.generation != new.generation:
        return Part(new.kind, change.key, "spec") if other else None
    return Part(new.kind, change.key, "status" if _metadata(old) == _metadata(new) else "metadata")


def written_part(written: Object, before: bytes | None, *, status: bool) -> Part:
    """Returns the part of an object that a write has changed."""
    name: PartName = "object"
    generation = written.metadata.generation
    if generation:
        was = msgspec.json.decode(before, type=_Header).metadata.generation if before is not None else 0
        name = "status" if status else "metadata" if was == generation else "spec"
    return Part(type(written), ObjectKey.of(written), name)


class _Generation(msgspec.Struct, gc=False):
    generation: int = 0


class _Header(msgspec.Struct, gc=False):
    metadata: _Generation


def _metadata(snapshot: Snapshot[Any]) -> tuple[object, ...]:
    return snapshot.label_items, snapshot.owners, snapshot.annotations, snapshot.finalizers


class Loop(msgspec.Struct):
    """The state of a key that is in a loop, or may be."""

    since: float
    last: float
    rounds: int = 0
    parts: frozenset[Part] = frozenset()
    pause: float = 0.0
    until: float = 0.0
    reported_at: float | None = None


class WriteLoops:
    """Counts the rounds of loops, and delays triggers. Remembers 10,000 keys; the oldest are dropped."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._loops: LRUMemory[ObjectKey, Loop] = LRUMemory(_REMEMBERED)

    def __len__(self) -> int:
        """Returns the number of keys that are slowed down."""
        now = self._now()
        return sum(1 for loop in self._loops.values() if loop.pause and now - loop.last < _FORGET_AFTER)

    def of(self, key: ObjectKey) -> Loop | None:
        """Returns the loop of a key that is slowed down."""
        loop = self._loops.peek(key)
        return loop if loop is not None and loop.pause else None

    def wait(self, key: ObjectKey, part: Part | None) -> float:
        """Returns the delay in seconds for a trigger of the key by this part; mostly 0."""
        loop = self._loops.peek(key)
        if loop is None or not loop.pause or part not in loop.parts:
            return 0.0
        return max(loop.until - self._now(), 0.0)

    def ran(self, key: ObjectKey, causes: Set[Part | None], wrote: Set[Part]) -> Loop | None:
        """Records a reconcile: the parts that triggered it (None for anything else), and those that it wrote.

        Returns the loop if the key is slowed down because of it.
        """
        now, loop = self._now(), self._loops.peek(key)
        if loop is not None and now - loop.last > _FORGET_AFTER:
            self._loops.discard(key)
            loop = None
        if not causes or not causes <= wrote:
            if loop is not None and loop.pause and causes and not loop.parts & wrote:
                self._loops.discard(key)  # nothing to write: the other writer has stopped
            return None
        if loop is None or (not loop.pause and now - loop.since > WINDOW):
            loop = Loop(since=now, last=now, reported_at=loop.reported_at if loop is not None else None)
        loop.rounds, loop.last = loop.rounds + 1, now
        loop.parts |= frozenset(part for part in causes if part is not None)
        self._loops.put(key, loop)
        if loop.rounds < LIMIT:
            return None
        loop.pause = doubled(loop.rounds - LIMIT, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        loop.until = now + loop.pause
        return loop

    def should_report(self, loop: Loop) -> bool:
        """Returns whether this loop was not reported in the last hour."""
        now = self._now()
        if loop.reported_at is not None and now - loop.reported_at < _REPORT_INTERVAL:
            return False
        loop.reported_at = now
        return True

    def forget(self, key: ObjectKey) -> None:
        """Drops the loop of a key."""
        self._loops.discard(key)
