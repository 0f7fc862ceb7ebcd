"""The lines of keys that wait for a worker: one line for each priority, first come, first served."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Hashable
from operator import itemgetter
from typing import Generic, NamedTuple, TypeAlias, TypeVar

__all__ = ["Lines", "Place"]

K = TypeVar("K", bound=Hashable)

# (key, priority, when it became ready). A plain tuple, because the initial list makes one for each object of the
# cluster, and because it cannot change: a key that moves gets a new place, and its old one is recognised as stale.
Place: TypeAlias = tuple[K, int, float]

_FEW = 8


class _Line(NamedTuple, Generic[K]):
    order: int
    places: deque[Place[K]]


class Lines(Generic[K]):
    """Places in order of priority, then of arrival.

    A place counts only while `waiting` holds that very tuple for its key. So leaving a line costs nothing: the stale
    place is passed over when it reaches the front, or swept out when stale places outnumber the others.
    """

    __slots__ = ("_by_priority", "_lines", "_stale", "_waiting")

    def __init__(self, waiting: dict[K, Place[K]]) -> None:
        self._waiting = waiting
        self._by_priority: dict[int, deque[Place[K]]] = {}
        self._lines: list[_Line[K]] = []
        self._stale = 0

    def push(self, place: Place[K]) -> None:
        """Joins the line of the place's priority, at its end."""
        line = self._by_priority.get(place[1])
        if line is None:
            line = self._open(place[1])
        line.append(place)

    def pop(self) -> Place[K] | None:
        """Returns the place whose turn it is, or None when nobody waits."""
        waiting = self._waiting
        for _, line in self._lines:
            while line:
                place = line.popleft()
                if waiting.get(place[0]) is place:
                    return place
                self._stale -= 1
        return None

    def left(self) -> None:
        """One of the places has become stale."""
        self._stale += 1
        if self._stale > len(self._waiting) + _FEW:
            self._sweep()

    def clear(self) -> None:
        """Empty every line."""
        self._by_priority.clear()
        self._lines.clear()
        self._stale = 0

    def _open(self, priority: int) -> deque[Place[K]]:
        if len(self._lines) >= _FEW:
            self._close_empty()
        line: deque[Place[K]] = deque()
        self._by_priority[priority] = line
        insort(self._lines, _Line(-priority, line), key=itemgetter(0))
        return line

    def _close_empty(self) -> None:
        self._by_priority = {priority: line for priority, line in self._by_priority.items() if line}
        self._lines = [line for line in self._lines if line.places]

    def _sweep(self) -> None:
        waiting = self._waiting
        for _, line in self._lines:
            current = [place for place in line if waiting.get(place[0]) is place]
            line.clear()
            line.extend(current)
        self._stale = 0
