"""`LoopTime`: how long functions of the user block the event loop.

Index functions, handlers, predicates and map functions run inside the watch loop. While one of them runs, no other
watch, lease or reconcile makes progress. Each call is timed, and the time is added up until the event loop runs again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from kubewright.durations import format_duration
from kubewright.lru import LRUMemory

__all__ = ["BLOCKED_SECONDS", "LoopTime"]

logger = logging.getLogger("kubewright.cache")

BLOCKED_SECONDS: Final = 0.1
"""Functions that block the event loop for this long without a break are logged and counted."""
_SLICE_SECONDS: Final = 0.02
"""After this much time in functions of the user, a reflector lets other tasks run before the next event."""
_LOG_EVERY: Final = 60.0
_FUNCTIONS: Final = 1_000


class LoopTime:
    """Adds up the time in functions of the user, from one turn of the event loop to the next.

    Belongs to one event loop. Times are real, also on a virtual clock: a function that blocks stops every clock. With
    `slices=False` a slice never ends, because the order of tasks under virtual time must not depend on real time.
    """

    def __init__(self, kind: str = "", *, slices: bool = True) -> None:
        self.timer: Callable[[], float] = time.perf_counter
        self.slices = slices
        """Whether time in functions of the user ever ends a slice."""
        self.blocked = 0
        """How often the event loop was blocked for at least `BLOCKED_SECONDS`."""
        self.blocked_seconds = 0.0
        """How long the event loop was blocked in total."""
        self._kind = kind
        self._spent = 0.0
        self._calls: dict[str, tuple[int, float]] = {}
        self._logged: LRUMemory[str, float] = LRUMemory(_FUNCTIONS)

    def add(self, function: str, seconds: float) -> None:
        """Records a call of the named function. Does nothing outside of an event loop, which it cannot block."""
        if not self._calls:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return
            loop.call_soon(self._finish)
        calls, before = self._calls.get(function, (0, 0.0))
        self._calls[function] = calls + 1, before + seconds
        self._spent += seconds

    @property
    def slice_is_over(self) -> bool:
        """Whether other tasks should run before the next event."""
        return self._spent >= _SLICE_SECONDS and self.slices

    def _finish(self) -> None:
        calls, self._calls = self._calls, {}
        spent, self._spent = self._spent, 0.0
        if spent < BLOCKED_SECONDS:
            return
        self.blocked += 1
        self.blocked_seconds += spent
        function, (count, seconds) = max(calls.items(), key=lambda item: item[1][1])
        now, last = self.timer(), self._logged.get(function)
        if last is not None and now - last < _LOG_EVERY:
            return
        self._logged.put(function, now)
        logger.warning(
            "%s%s blocked the event loop for %s (calls: %d): all watches, leases and reconciles waited."
            " Make it faster, or move its work into the reconciler",
            f"{self._kind}: " if self._kind else "",
            function,
            format_duration(seconds),
            count,
        )
