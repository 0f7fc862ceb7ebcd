"""Conditions, and their history: what an object's status says of itself, and what it said before.

A condition carries the time of its last transition and nothing of earlier ones, so the console remembers those that it
has seen: `ConditionHistory`, in bounded memory, as long as somebody looks at objects of the kind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from kubewright.clock import Clock, SystemClock
from kubewright.console.objects._events import parse_time

__all__ = ["Condition", "ConditionHistory", "Transition", "conditions_of", "count_conditions"]

_OBJECTS: Final = 2_000
_TRANSITIONS: Final = 50
_CONDITIONS: Final = 50


class Condition(NamedTuple):
    """One condition, as the status has it now."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None
    """Its last transition, as it says itself."""
    observed_generation: int | None = None


class Transition(NamedTuple):
    """A condition became another."""

    at: datetime
    type: str
    before: str
    """The status that it had; empty when it was not there."""
    after: str
    """The status that it has; empty when it is gone."""
    reason: str = ""
    message: str = ""


def conditions_of(obj: Mapping[str, Any]) -> list[Condition]:
    """The conditions of an object, in its own order, at most 50. What makes no sense is left out."""
    found: dict[str, Condition] = {}
    for one in _listed(obj):
        if isinstance(one, dict) and isinstance(one.get("type"), str) and len(found) < _CONDITIONS:
            generation = one.get("observedGeneration")
            found[one["type"]] = Condition(
                type=one["type"],
                status=_text(one.get("status")),
                reason=_text(one.get("reason")),
                message=_text(one.get("message")),
                since=parse_time(one.get("lastTransitionTime")),
                observed_generation=generation if isinstance(generation, int) else None,
            )
    return [*found.values()]


def count_conditions(obj: Mapping[str, Any]) -> int:
    """How many the object has, also of those that are left out."""
    return len(_listed(obj))


def _listed(obj: Mapping[str, Any]) -> list[Any]:
    status = obj.get("status")
    listed = status.get("conditions") if isinstance(status, dict) else None
    return listed if isinstance(listed, list) else []


class ConditionHistory:
    """The transitions that were seen: of each object the last 50, of at most 2,000 objects, by uid."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._last: dict[str, dict[str, Condition]] = {}
        self._seen: dict[str, deque[Transition]] = {}

    def record(self, uid: str, obj: Mapping[str, Any]) -> None:
        """The object is like this now. The first time that an object is seen is no transition."""
        now = {one.type: one for one in conditions_of(obj)}
        before = self._last.pop(uid, None)
        self._last[uid] = now  # at the end: the order of the dict is the order of use
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
        # A change of the reason alone is no transition to the API, and keeps the old time.
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
        """The transitions of an object that were seen, the newest first."""
        return tuple(reversed(self._seen.get(uid, ())))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
