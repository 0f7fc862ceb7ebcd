"""`WriteLoops`: keys that are woken by nothing but changes of what they write themselves.

Two controllers that set one field of a status to different values wake each other, and so do two that each write the
current time. Neither would ever stop. A loop is a reconcile whose every cause is a change of some part of an object
that the same reconcile then writes again. After 20 of those in ten seconds, wakes by these parts wait: 10 seconds, then
twice as long each time, up to a minute. The loop is over when a reconcile has nothing to write there.

A change of the spec, a deletion, another object, a resync and a retry are never part of a loop, and never wait. So the
last status of a rollout is written at once, since its cause is another object.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Set
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from kubewright.api import Object
from kubewright.cache import Change, ObjectKey, Snapshot
from kubewright.clock import Clock

__all__ = ["Loop", "Part", "PartName", "WriteLoops", "Written", "part_of", "written_part"]

PartName: TypeAlias = Literal["status", "metadata", "spec", "object"]

LIMIT: Final = 20
"""Reconciles of a loop, within `WINDOW` seconds, after which its wakes wait."""
WINDOW: Final = 10.0
FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 60.0
_FORGET_AFTER: Final = 600.0
_TELL_EVERY: Final = 3600.0
_REMEMBERED: Final = 10_000


class Part(NamedTuple):
    """A part of an object: what a write changes, and what a change is about."""

    kind: type[Object]
    key: ObjectKey
    part: PartName

    def __str__(self) -> str:
        whose = "" if self.part == "object" else f"the {self.part} of "
        return f"{whose}{self.kind.__name__} {self.key}"


class Written(NamedTuple):
    """A write of a part: the object before and after it, and the field managers that it took fields from."""

    before: bytes | None
    after: bytes
    managers: tuple[str, ...] = ()


def part_of(change: Change[Any], *, other: bool = False) -> Part | None:
    """Returns the part of an object that changed; None for news that is never a loop: a new spec, a deletion.

    The spec of another object than the reconciled one can be a part of a loop.
    """
    old, new = change.old, change.new
    if change.type != "updated" or old is None or new is None or old.uid != new.uid or old.deleting != new.deleting:
        return None
    if not new.generation:  # kinds without a spec: all of it is content
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
    """What is known of one key that is in a loop, or may be."""

    since: float
    last: float
    rounds: int = 0
    parts: frozenset[Part] = frozenset()
    pause: float = 0.0
    until: float = 0.0
    told: float | None = None


class WriteLoops:
    """Counts loops and says how long a wake has to wait. A few thousand keys: the oldest are forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._loops: OrderedDict[ObjectKey, Loop] = OrderedDict()

    def __len__(self) -> int:
        """How many keys are slowed down."""
        now = self._now()
        return sum(1 for loop in self._loops.values() if loop.pause and now - loop.last < _FORGET_AFTER)

    def of(self, key: ObjectKey) -> Loop | None:
        """Returns the loop of a key that is slowed down."""
        loop = self._loops.get(key)
        return loop if loop is not None and loop.pause else None

    def wait(self, key: ObjectKey, part: Part | None) -> float:
        """Returns how many seconds a wake of the key by this part has to wait; 0 for most."""
        loop = self._loops.get(key)
        if loop is None or not loop.pause or part not in loop.parts:
            return 0.0
        return max(loop.until - self._now(), 0.0)

    def ran(self, key: ObjectKey, causes: Set[Part | None], wrote: Set[Part]) -> Loop | None:
        """Notes a reconcile: the parts that woke it (None for anything else), and those that it wrote.

        Returns the loop if the key is slowed down because of this.
        """
        now, loop = self._now(), self._loops.get(key)
        if loop is not None and now - loop.last > _FORGET_AFTER:
            del self._loops[key]
            loop = None
        if not causes or not causes <= wrote:
            if loop is not None and loop.pause and causes and not loop.parts & wrote:
                del self._loops[key]  # it had nothing to write: the other writer has stopped
            return None
        if loop is None or (not loop.pause and now - loop.since > WINDOW):
            loop = self._loops[key] = Loop(since=now, last=now, told=loop.told if loop is not None else None)
            if len(self._loops) > _REMEMBERED:
                self._loops.popitem(last=False)
        loop.rounds, loop.last = loop.rounds + 1, now
        loop.parts |= frozenset(part for part in causes if part is not None)
        self._loops.move_to_end(key)
        if loop.rounds < LIMIT:
            return None
        loop.pause = min(loop.pause * 2 or FIRST_PAUSE, LONGEST_PAUSE)
        loop.until = now + loop.pause
        return loop

    def should_report(self, loop: Loop) -> bool:
        """Whether nothing was said of this loop in the last hour."""
        now = self._now()
        if loop.told is not None and now - loop.told < _TELL_EVERY:
            return False
        loop.told = now
        return True

    def forget(self, key: ObjectKey) -> None:
        """The object is gone."""
        self._loops.pop(key, None)
