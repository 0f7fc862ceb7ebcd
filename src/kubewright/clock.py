"""Time as a parameter.

Everything in Kubewright that waits, times out or stamps takes a `Clock` instead of calling `time` or
`asyncio.sleep` itself, so that a test can run an hour of backoff in a millisecond.

`SystemClock` is the real one. `VirtualClock` stands still until a test moves it: `advance` runs every timer that
falls due, in order, and lets the tasks that were waiting for it go on.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

__all__ = ["Clock", "SystemClock", "Timer", "VirtualClock"]


class Timer(Protocol):
    """A call that has been scheduled; `cancel` is harmless after it ran."""

    def cancel(self) -> None:
        """Forget the call."""


class Clock(Protocol):
    """What Kubewright asks of time. Not thread-safe: use it from the event loop's thread."""

    def now(self) -> datetime:
        """The time of day, in UTC."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes backwards."""

    async def sleep(self, seconds: float) -> None:
        """Wait. A negative or zero time still yields once to other tasks."""

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call back once, after that many seconds, in the event loop."""


class SystemClock:
    """The time of this machine."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait that many seconds."""
        await asyncio.sleep(max(seconds, 0))

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Schedule the callback on the running event loop."""
        return asyncio.get_running_loop().call_later(max(seconds, 0), callback)


class _VirtualTimer:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class VirtualClock:
    """A clock that only a test moves. Timers due at the same moment run in the order in which they were set."""

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, _VirtualTimer]] = []

    def now(self) -> datetime:
        """The virtual time of day."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Seconds that this clock was advanced."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        timer = self.call_later(seconds, lambda: woken.done() or woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Schedule the callback for a later `advance`."""
        timer = _VirtualTimer(callback)
        heapq.heappush(self._timers, (self._elapsed + max(seconds, 0), next(self._order), timer))
        return timer

    @property
    def next_timer(self) -> float | None:
        """Seconds until the earliest timer, or None when nothing waits."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return max(self._timers[0][0] - self._elapsed, 0.0) if self._timers else None

    async def advance(self, seconds: float) -> None:
        """Move on by that many seconds, running each timer at its moment and then the tasks it woke."""
        target = self._elapsed + seconds
        await self.settle()
        while (wait := self.next_timer) is not None and self._elapsed + wait <= target:
            due, _, timer = heapq.heappop(self._timers)
            self._elapsed = max(self._elapsed, due)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
            await self.settle()
        self._elapsed = target

    async def settle(self) -> None:
        """Let every task run that can run without time passing. Bounded, so a busy loop cannot hang a test."""
        for _ in range(20):
            await asyncio.sleep(0)
