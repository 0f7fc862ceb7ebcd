"""`Correlator`: aggregates event records into the events that are written.

The rules are those of client-go:

- A repeated record is one event with a count: a series.
- Similar records (equal except for the message) become one event from the tenth message on, if no more than ten minutes
  lie between two of them: "(combined from similar events): ...".
- An object can have 25 events of a type in a burst, and then one every five minutes. Further records still raise the
  count, which is written with the next event that is allowed.

Only a bounded number of recent series, groups and objects is remembered.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from datetime import datetime

import msgspec

from kubewright.api import core
from kubewright.clock import Clock
from kubewright.durations import Duration, check_duration
from kubewright.events._record import LONGEST_NOTE, EventRecord, EventType, fitted
from kubewright.lru import LRUMemory

__all__ = ["COMBINED", "Correlator", "Limits", "Series"]

COMBINED = "(combined from similar events): "


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many events are written."""

    similar: int = 10
    """With this many different messages, similar events become one."""
    similar_within: Duration = 600.0
    """The time after which similar events form a new group."""
    burst: int = 25
    """Events of one type in a burst, for each object."""
    refill: Duration = 300.0
    """The time until one more event is allowed."""
    remembered: int = 4_096
    """The number of series, of groups of similar events, and of objects that are remembered."""


class Series(msgspec.Struct, eq=False):
    """One event, recorded once or many times."""

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
    """How often it was recorded."""
    written: int = 0
    """The count on the server; 0 if the server does not have the event."""
    name: str = ""
    """Its name on the server."""
    waiting: bool = False
    """Whether it is queued to be written."""

    def restart(self) -> None:
        """Starts a new event, because the server has deleted the old one (events live for an hour)."""
        self.count -= self.written
        self.written, self.name, self.first_at = 0, "", self.last_at


class _Group(msgspec.Struct):
    """Similar events: the hashes of their messages, and the time of the last one."""

    messages: set[int] = msgspec.field(default_factory=set)
    last: float = 0.0


class _Allowance(msgspec.Struct):
    """The token bucket of an object."""

    tokens: float
    at: float


class Correlator:
    """Aggregates records. Belongs to one thread."""

    def __init__(self, clock: Clock, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._similar_within = check_duration("similar_within", self.limits.similar_within)
        self._refill = check_duration("refill", self.limits.refill, zero=False)
        self.repeated = 0
        """How many records raised a count instead of creating an event."""
        self.combined = 0
        """How many records were combined with similar events."""
        self._now = clock.monotonic
        remembered = self.limits.remembered
        self._series: LRUMemory[Hashable, Series] = LRUMemory(remembered)
        self._groups: LRUMemory[Hashable, _Group] = LRUMemory(remembered)
        self._allowances: LRUMemory[Hashable, _Allowance] = LRUMemory(remembered)

    def count(self, record: EventRecord) -> tuple[Series, bool]:
        """Counts a record. Returns its series, and whether it may be written now."""
        now = self._now()
        series = self._find(record, now)
        if series.count:
            self.repeated += 1
        series.count += 1
        series.last_at = record.at
        return series, self._allowed(record, now)

    def unwritten(self) -> Iterator[Series]:
        """Returns the series whose count on the server is out of date."""
        return (series for series in self._series.values() if series.written and series.count > series.written)

    def _find(self, record: EventRecord, now: float) -> Series:
        similar = (record.object_identity, record.type, record.reason, record.action)
        group = self._groups.get(similar)
        if group is None or now - group.last > self._similar_within:
            group = _Group()
            self._groups.put(similar, group)
        group.last = now
        group.messages.add(hash(record.message))
        combined = len(group.messages) >= self.limits.similar
        message = record.message
        identity: Hashable = (similar, message)
        if combined:
            group.messages.pop()
            self.combined += 1
            identity, message = similar, fitted(COMBINED + message, LONGEST_NOTE)
        series = self._series.get(identity)
        if series is None:
            series = Series(
                about=record.about,
                related=record.related,
                type=record.type,
                reason=record.reason,
                action=record.action,
                message=message,
                combined=combined,
                first_at=record.at,
                last_at=record.at,
            )
            self._series.put(identity, series)
            return series
        series.message = message  # the last message of similar events is shown, if the server allows a change
        return series

    def _allowed(self, record: EventRecord, now: float) -> bool:
        limits, whose = self.limits, (record.object_identity, record.type)
        allowance = self._allowances.get(whose)
        if allowance is None:
            allowance = _Allowance(float(limits.burst), now)
            self._allowances.put(whose, allowance)
        allowance.tokens = min(allowance.tokens + (now - allowance.at) / self._refill, float(limits.burst))
        allowance.at = now
        # Slightly less than one, because a sum of many small fractions need not reach 1.0.
        if allowance.tokens < 1 - 1e-9:
            return False
        allowance.tokens -= 1
        return True
