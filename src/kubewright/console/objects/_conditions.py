"""Conditions and their history.

A condition carries only the time of its last transition. `ConditionHistory` therefore records transitions while a page
shows objects of the kind, in bounded memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from kubewright.clock import Clock, SystemClock
from kubewright.console.objects._untrusted import as_list, as_map, as_text, parse_time
from kubewright.console.objects.states import Concern, concern_of

__all__ = ["Condition", "ConditionHistory", "Transition", "conditions_of", "count_conditions", "problems_first"]

_OBJECTS: Final = 2_000
_TRANSITIONS: Final = 50
_CONDITIONS: Final = 50


class Condition(NamedTuple):
    """One condition of the current status."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None
    """The `lastTransitionTime`."""
    observed_generation: int | None = None

    @property
    def concern(self) -> Concern:
        """Whether the condition is a problem."""
        return concern_of(self.type, self.status, self.reason)


class Transition(NamedTuple):
    """A change of a condition."""

    at: datetime
    type: str
    before: str
    """The previous status; empty if the condition did not exist."""
    after: str
    """The new status; empty if the condition was removed."""
    reason: str = ""
    message: str = ""


def conditions_of(obj: Mapping[str, Any]) -> list[Condition]:
    """Returns the conditions of an object, in their order, at most 50. Malformed ones are omitted."""
    found: dict[str, Condition] = {}
    for one in _conditions_in(obj):
        if isinstance(one, dict) and isinstance(one.get("type"), str) and len(found) < _CONDITIONS:
            generation = one.get("observedGeneration")
            found[one["type"]] = Condition(
                type=one["type"],
                status=as_text(one.get("status")),
                reason=as_text(one.get("reason")),
                message=as_text(one.get("message")),
                since=parse_time(one.get("lastTransitionTime")),
                observed_generation=generation if isinstance(generation, int) else None,
            )
    return [*found.values()]


def problems_first(conditions: Iterable[Condition]) -> list[Condition]:
    """Returns the conditions: problems first, then unknown ones, then the others. Keeps the order within each group."""
    return sorted(conditions, key=lambda one: one.concern)


def count_conditions(obj: Mapping[str, Any]) -> int:
    """Returns how many conditions the object has, including omitted ones."""
    return len(_conditions_in(obj))


def _conditions_in(obj: Mapping[str, Any]) -> list[Any]:
    return as_list(as_map(obj.get("status")).get("conditions"))


class ConditionHistory:
    """The observed transitions: the last 50 of each object, for at most 2,000 objects, by UID."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._last: dict[str, dict[str, Condition]] = {}
        self._seen: dict[str, deque[Transition]] = {}

    def record(self, uid: str, obj: Mapping[str, Any]) -> None:
        """Records the current state of an object. The first call for an object records no transition."""
        now = {one.type: one for one in conditions_of(obj)}
        before = self._last.pop(uid, None)
        self._last[uid] = now  # moves it to the end: the dict is ordered by use
        if before is not None:
            for name in dict.fromkeys((*before, *now)):
                self._compare(uid, before.get(name), now.get(name))
        while len(self._last) > _OBJECTS:
            oldest = next(iter(self._last))
            del self._last[oldest]
            self._seen.pop(oldest, None)

    def _compare(self, uid: str, old: Condition | None, new: Condition | None) -> None:
        if (old and (old.status, old.reason)) == (new and (new.status, new.reason)):
            return
        said = new or old
        assert said is not None
        # The API does not count a change of the reason alone as a transition and keeps the time.
        moved = new is not None and new.since is not None and (old is None or old.since != new.since)
        at = new.since if moved and new is not None and new.since is not None else self._clock.now()
        self._seen.setdefault(uid, deque(maxlen=_TRANSITIONS)).append(
            Transition(
                at,
                said.type,
                old.status if old else "",
                new.status if new else "",
                said.reason if new else "",
                said.message if new else "",
            )
        )

    def history(self, uid: str) -> Sequence[Transition]:
        """Returns the observed transitions of an object, newest first."""
        return tuple(reversed(self._seen.get(uid, ())))
