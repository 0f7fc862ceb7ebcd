"""`Correlator`: from what is told to the events that are worth writing.

The rules are those of client-go:

- The same thing told again is one event with a count: a series.
- Similar things (all but the message is the same) become one event from the tenth message on, if no more than ten
  minutes lie between one and the next: "(combined from similar events): ...".
- About one object, 25 events of a type can be told at once, and then one more each five minutes. What is told
  meanwhile still raises the count, which is written with the next one that may pass.

Only the most recent are remembered, a bounded number of each, so memory is bounded too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from datetime import datetime

import msgspec

from kubewright.api import core
from kubewright.clock import Clock
from kubewright.events._record import LONGEST_NOTE, EventRecord, EventType, fitted
from kubewright.lru import LRUMemory

__all__ = ["COMBINED", "Correlator", "Limits", "Series"]

COMBINED = "(combined from similar events): "


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much may be told."""

    similar: int = 10
    """With that many different messages, similar events become one."""
    similar_within: float = 600.0
    """Seconds after which similar events are a new story."""
    burst: int = 25
    """Events about one object, of one type, at once."""
    refill: float = 300.0
    """Seconds until one more may be told."""
    remembered: int = 4_096
    """Events, groups of similar ones, and objects, each."""


class Series(msgspec.Struct, eq=False):
    """One event, told once or many times."""

    about: core.ObjectReference
    related: core.ObjectReference | None
    type: EventType
    reason: str
    action: str
    message: str
    combined: bool
    first_at: datetime
    last_at: datetime
    count: int = 0
    """How often it was told."""
    written: int = 0
    """The count that the server knows; 0 when it does not know the event."""
    name: str = ""
    """Its name on the server."""
    waiting: bool = False
    """Whether it is in line to be written."""

    def restart(self) -> None:
        """Returns the server has forgotten it (events live for an hour): what was told since is a new one."""
        self.count -= self.written
        self.written, self.name, self.first_at = 0, "", self.last_at


class _Group(msgspec.Struct):
    """Similar events: hashes of their messages, which are enough to tell them apart, and the last one's time."""

    messages: set[int] = msgspec.field(default_factory=set)
    last: float = 0.0


class _Allowance(msgspec.Struct):
    """How much may still be told about an object."""

    tokens: float
    at: float


class Correlator:
    """Decides what becomes of each thing that is told. For one thread."""

    def __init__(self, clock: Clock, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.repeated = 0
        """How often something raised a count instead of making an event."""
        self.combined = 0
        """How often something was combined with similar events."""
        self._now = clock.monotonic
        remembered = self.limits.remembered
        self._series: LRUMemory[Hashable, Series] = LRUMemory(remembered)
        self._groups: LRUMemory[Hashable, _Group] = LRUMemory(remembered)
        self._allowances: LRUMemory[Hashable, _Allowance] = LRUMemory(remembered)

    def tell(self, told: EventRecord) -> tuple[Series, bool]:
        """Returns the event that this belongs to, its count raised, and whether it may be written now."""
        now = self._now()
        series = self._find(told, now)
        if series.count:
            self.repeated += 1
        series.count += 1
        series.last_at = told.at
        return series, self._allowed(told, now)

    def unwritten(self) -> Iterator[Series]:
        """Returns the events that the server knows, but not how often they were told by now."""
        return (series for series in self._series.values() if series.written and series.count > series.written)

    def _find(self, told: EventRecord, now: float) -> Series:
        similar = (told.object_identity, told.type, told.reason, told.action)
        group = self._groups.get(similar)
        if group is None or now - group.last > self.limits.similar_within:
            group = _Group()
            self._groups.put(similar, group)
        group.last = now
        group.messages.add(hash(told.message))
        combined = len(group.messages) >= self.limits.similar
        message = told.message
        identity: Hashable = (similar, message)
        if combined:
            group.messages.pop()
            self.combined += 1
            identity, message = similar, fitted(COMBINED + message, LONGEST_NOTE)
        series = self._series.get(identity)
        if series is None:
            series = Series(
                about=told.about,
                related=told.related,
                type=told.type,
                reason=told.reason,
                action=told.action,
                message=message,
                combined=combined,
                first_at=told.at,
                last_at=told.at,
            )
            self._series.put(identity, series)
            return series
        series.message = message  # of the similar ones, the last is shown where the server lets it be changed
        return series

    def _allowed(self, told: EventRecord, now: float) -> bool:
        limits, whose = self.limits, (told.object_identity, told.type)
        allowance = self._allowances.get(whose)
        if allowance is None:
            allowance = _Allowance(float(limits.burst), now)
            self._allowances.put(whose, allowance)
        allowance.tokens = min(allowance.tokens + (now - allowance.at) / limits.refill, float(limits.burst))
        allowance.at = now
        # A hair less than one: a sum of many small fractions of a token need not reach 1.0.
        if allowance.tokens < 1 - 1e-9:
            return False
        allowance.tokens -= 1
        return True
