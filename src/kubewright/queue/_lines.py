"""Keys that wait for a worker: one FIFO line for each priority."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Hashable
from operator import itemgetter
from typing import Generic, NamedTuple, TypeAlias, TypeVar

__all__ = ["Lines", "ReadyKey"]

K = TypeVar("K", bound=Hashable)

# (key, priority, when it became ready). A plain tuple, because the initial list creates one for each object of the
# cluster, and because it is immutable: a key that moves gets a new entry, and its old one is recognized as stale.
ReadyKey: TypeAlias = tuple[K, int, float]

_FEW = 8


class _Line(NamedTuple, Generic[K]):
    order: int
    entries: deque[ReadyKey[K]]


class Lines(Generic[K]):
    """Entries in order of priority, then of arrival.

    An entry counts only while `waiting` has that same tuple for its key. So removing an entry costs nothing: a stale
    entry is skipped when it reaches the front, or swept out when stale entries outnumber the others.
    """

    __slots__ = ("_by_priority", "_lines", "_stale", "_waiting")

    def __init__(self, waiting: dict[K, ReadyKey[K]]) -> None:
        self._waiting = waiting
        self._by_priority: dict[int, deque[ReadyKey[K]]] = {}
        self._lines: list[_Line[K]] = []
        self._stale = 0

    def push(self, entry: ReadyKey[K]) -> None:
        """Appends an entry to the line of its priority."""
        line = self._by_priority.get(entry[1])
        if line is None:
            line = self._open(entry[1])
        line.append(entry)

    def pop(self) -> ReadyKey[K] | None:
        """Removes and returns the next entry, or None if no key waits."""
        waiting = self._waiting
        for _, line in self._lines:
            while line:
                entry = line.popleft()
                if waiting.get(entry[0]) is entry:
                    return entry
                self._stale -= 1
        return None

    def left(self) -> None:
        """Notes that one of the entries has become stale."""
        self._stale += 1
        if self._stale > len(self._waiting) + _FEW:
            self._sweep()

    def clear(self) -> None:
        """Empties every line."""
        self._by_priority.clear()
        self._lines.clear()
        self._stale = 0

    def _open(self, priority: int) -> deque[ReadyKey[K]]:
        if len(self._lines) >= _FEW:
            self._close_empty()
        line: deque[ReadyKey[K]] = deque()
        self._by_priority[priority] = line
        insort(self._lines, _Line(-priority, line), key=itemgetter(0))
        return line

    def _close_empty(self) -> None:
        self._by_priority = {priority: line for priority, line in self._by_priority.items() if line}
        self._lines = [line for line in self._lines if line.entries]

    def _sweep(self) -> None:
        waiting = self._waiting
        for _, line in self._lines:
            current = [entry for entry in line if waiting.get(entry[0]) is entry]
            line.clear()
            line.extend(current)
        self._stale = 0
