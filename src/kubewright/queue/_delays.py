"""Keys that become ready later: a heap of times and one timer for all of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from typing import Generic, TypeAlias, TypeVar

from kubewright.clock import Clock, Timer

__all__ = ["Delay", "Delays"]

K = TypeVar("K", bound=Hashable)

# (due time, insertion order, key, priority)
Delay: TypeAlias = tuple[float, int, K, int]

_MIN_STALE = 64


class Delays(Generic[K]):
    """At most one delay for each key; `by_key` is for reading.

    Calls `ready(key, priority)` for each key that is due, earliest first. Outside of an event loop the timer cannot be
    set: `armed` is then False, and `arm` must be called inside of one.
    """

    __slots__ = ("_clock", "_heap", "_order", "_ready", "_timer", "_timer_at", "by_key")

    def __init__(self, clock: Clock, ready: Callable[[K, int], None]) -> None:
        self._clock = clock
        self._ready = ready
        self.by_key: dict[K, Delay[K]] = {}
        self._heap: list[Delay[K]] = []
        self._order = 0
        self._timer: Timer | None = None
        self._timer_at = 0.0

    @property
    def armed(self) -> bool:
        """Whether a timer is set, or none is needed."""
        return self._timer is not None or not self.by_key

    def set(self, key: K, due: float, priority: int) -> None:
        """Delays the key. Of two delays, the earlier time and the higher priority count."""
        current = self.by_key.get(key)
        if current is not None:
            if due >= current[0] and priority <= current[3]:
                return
            due, priority = min(due, current[0]), max(priority, current[3])
        self._order += 1
        delay = (due, self._order, key, priority)
        self.by_key[key] = delay
        heapq.heappush(self._heap, delay)
        self._compact()
        self.arm()

    def pop(self, key: K) -> Delay[K] | None:
        """Removes the key's delay. The timer stays: firing once for nothing is cheaper than setting it again."""
        delay = self.by_key.pop(key, None)
        if delay is not None:
            self._compact()
        return delay

    def clear(self) -> None:
        """Removes all delays and cancels the timer."""
        self.by_key.clear()
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def arm(self) -> None:
        """Sets the timer to the earliest delay, unless it already fires by then."""
        self._drop_stale()
        if not self._heap:
            return
        due = self._heap[0][0]
        if self._timer is not None:
            if self._timer_at <= due:
                return
            self._timer.cancel()
            self._timer = None
        try:
            self._timer = self._clock.call_later(due - self._clock.monotonic(), self._fire)
        except RuntimeError:  # no event loop is running yet
            return
        self._timer_at = due

    def rearm(self) -> None:
        """Sets the timer again, in the event loop that is running now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.arm()

    def _fire(self) -> None:
        self._timer = None
        # A loop may call a little early, and floats round: the time that the timer was set for counts as reached.
        now = max(self._clock.monotonic(), self._timer_at)
        heap, by_key = self._heap, self.by_key
        while heap and heap[0][0] <= now:
            delay = heapq.heappop(heap)
            if by_key.get(delay[2]) is delay:
                del by_key[delay[2]]
                self._ready(delay[2], delay[3])
        self.arm()

    def _drop_stale(self) -> None:
        heap, by_key = self._heap, self.by_key
        while heap and by_key.get(heap[0][2]) is not heap[0]:
            heapq.heappop(heap)

    def _compact(self) -> None:
        # Otherwise a key that is repeatedly delayed by hours and then made ready would fill the heap.
        if len(self._heap) > 2 * len(self.by_key) + _MIN_STALE:
            self._heap = list(self.by_key.values())
            heapq.heapify(self._heap)
