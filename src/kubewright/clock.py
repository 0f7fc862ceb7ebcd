"""Time as a parameter.

Everything in Kubewright that waits, times out or stamps takes a `Clock` instead of calling `time` or
`asyncio.sleep` itself, so that a test can run an hour of backoff in a millisecond.

`SystemClock` is the real one. `VirtualClock` stands still until a test moves it: `advance` runs every timer that
falls due, in order, and lets the tasks that were waiting for it go on; `run` does so until something is finished.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

__all__ = ["Clock", "SystemClock", "Timer", "VirtualClock", "check_clock"]

T = TypeVar("T")

_NANOSECONDS = 1_000_000_000
_SETTLE_ROUNDS = 1_000
_SETTLE_ROUNDS_BLIND = 100
_TIMERS_AT_ONE_MOMENT = 100_000


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


def check_clock(given: Clock | None) -> Clock | None:
    """A clock, where somebody may give one. Raises TypeError for what is none."""
    missing = [name for name in ("now", "monotonic", "sleep", "call_later") if not callable(getattr(given, name, None))]
    if given is not None and (missing or isinstance(given, type)):
        raise TypeError(f"clock is a Clock, such as VirtualClock(), not {given!r}")
    return given


class SystemClock:
    """The time of this machine."""

    # Seconds of the monotonic clock. The function itself, without a method around it: the work queue asks for the
    # time twice for each key.
    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

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
    """A clock that only a test moves. Timers due at the same moment run in the order in which they were set.

    Time is counted in whole nanoseconds, so that tenths of seconds add up: ten times `advance(0.1)` reaches a timer
    that was set for one second. An exception of a timer's callback comes out of `advance`, at the callback's moment.
    It moves for timers alone: it does not wait for sockets, processes or threads.
    """

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0
        self._order = itertools.count()
        self._timers: list[tuple[int, int, _VirtualTimer]] = []

    def now(self) -> datetime:
        """The virtual time of day."""
        return self._start + timedelta(microseconds=self._elapsed // 1_000)

    def monotonic(self) -> float:
        """Seconds that this clock was advanced."""
        return self._elapsed / _NANOSECONDS

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        timer = self.call_later(seconds, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Schedule the callback for a later `advance`."""
        timer = _VirtualTimer(callback)
        due = self._elapsed + round(max(seconds, 0) * _NANOSECONDS)
        heapq.heappush(self._timers, (due, next(self._order), timer))
        return timer

    @property
    def next_timer(self) -> float | None:
        """Seconds until the earliest timer, or None when nothing waits."""
        due = self._next_due()
        return None if due is None else (due - self._elapsed) / _NANOSECONDS

    async def advance(self, seconds: float) -> None:
        """Move on by that many seconds, running each timer at its moment and then the tasks it woke."""
        if seconds < 0:
            raise ValueError(f"a clock never goes backwards: advance({seconds})")
        await self._advance_to(self._elapsed + round(seconds * _NANOSECONDS))

    async def run(self, awaitable: Awaitable[T], limit: float = 86_400.0) -> T:
        """Await something, moving to the next timer whenever nothing else can run; at most `limit` seconds in all.

        Raises `TimeoutError` when the limit would be passed, or when nothing is left that could ever finish it; what
        was awaited is then cancelled.
        """
        task = asyncio.ensure_future(awaitable)
        end = self._elapsed + round(limit * _NANOSECONDS)
        try:
            await self.settle()
            while not task.done():
                due = self._next_due()
                if due is None:
                    raise TimeoutError("no timer is set, so nothing can finish what this clock was asked to run")
                if due > end:
                    raise TimeoutError(f"not finished after {limit} virtual seconds")
                await self._advance_to(due)
            return await task
        finally:
            task.cancel()

    async def settle(self) -> None:
        """Let every task run that can run without time passing. Bounded, so a busy loop cannot hang a test."""
        # asyncio's own loop tells us when nothing is left to run. uvloop does not: there we go round often enough
        # for any sensible chain of tasks that wake each other.
        ready = getattr(asyncio.get_running_loop(), "_ready", None)
        for round_ in range(_SETTLE_ROUNDS_BLIND if ready is None else _SETTLE_ROUNDS):
            await asyncio.sleep(0)
            # The first rounds let the loop look at its sockets as well: they are how other threads wake it.
            if ready is not None and not ready and round_ >= 2:
                return

    def _next_due(self) -> int | None:
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    async def _advance_to(self, target: int) -> None:
        await self.settle()
        at_this_moment = 0
        while (due := self._next_due()) is not None and due <= target:
            at_this_moment = at_this_moment + 1 if due <= self._elapsed else 0
            if at_this_moment > _TIMERS_AT_ONE_MOMENT:
                raise RuntimeError(f"timers keep setting timers for the same moment, {self.monotonic()} s")
            timer = heapq.heappop(self._timers)[2]
            self._elapsed = max(self._elapsed, due)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
            await self.settle()
        self._elapsed = max(self._elapsed, target)
