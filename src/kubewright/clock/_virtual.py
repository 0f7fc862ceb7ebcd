"""`VirtualClock`: time that a test moves."""

from __future__ import annotations

import asyncio
import heapq
import inspect
import itertools
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractContextManager
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from kubewright.clock._clock import Clock, Timer
from kubewright.clock._holds import SERVED, Holds
from kubewright.durations import Duration, check_duration
from kubewright.programs import current_program

__all__ = ["VirtualClock", "settled"]

T = TypeVar("T")

_NANOSECONDS: Final = 1_000_000_000
_SETTLE_ROUNDS: Final = 1_000
_SETTLE_ROUNDS_BLIND: Final = 100
_TIMERS_AT_ONE_MOMENT = 100_000
_LONGEST_HOLD: Final = 60.0


class _VirtualTimer:
    """A call at a moment. A timer of a killed program is over; another one runs in the context that set it."""

    __slots__ = ("_callback", "_context", "_program")

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback: Callable[[], object] | None = callback
        self._program = current_program()
        self._context = None if self._program is None else copy_context()

    @property
    def is_over(self) -> bool:
        return self._callback is None or (self._program is not None and self._program.killed)

    def run(self) -> None:
        callback = None if self.is_over else self._callback
        self._callback = None
        if callback is not None:
            if self._context is None:
                callback()
            else:
                self._context.run(callback)

    def cancel(self) -> None:
        self._callback = None


class _Limit:
    """A timer of a virtual clock and one of the event loop, of which the first to fire cancels the other."""

    def __init__(self, clock: VirtualClock, seconds: float, callback: Callable[[], object]) -> None:
        self._callback = callback
        self._timers = (
            clock.call_later(seconds, self._fire),
            asyncio.get_running_loop().call_later(max(seconds, 0), self._fire),
        )

    def _fire(self) -> None:
        self.cancel()
        self._callback()

    def cancel(self) -> None:
        for timer in self._timers:
            timer.cancel()


class VirtualClock:
    """A clock that only a test moves, and that work outside the event loop holds; see the rule in this module.

    - `advance(seconds)` runs each timer at its moment, and the tasks that it wakes, before the next one. Timers of the
      same moment run in the order in which they were set.
    - Time is counted in whole nanoseconds, so that tenths of seconds add up: ten times `advance(0.1)` reaches a timer
      that was set for one second. A positive delay is at least one nanosecond.
    - An exception of a timer's callback is raised by `advance`, at the callback's moment.
    - Each method that moves time waits, in real time, for the work that holds the clock. It raises `TimeoutError` with
      the names of that work if nothing of it ends for `longest_hold` real seconds.

    Args:
        start: the time of day at which the clock begins.
        longest_hold: how many real seconds work outside the event loop may hold the clock.
    """

    def __init__(
        self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC), *, longest_hold: float = _LONGEST_HOLD
    ) -> None:
        self._start = start
        self._elapsed = 0
        self._order = itertools.count()
        self._timers: list[tuple[int, int, _VirtualTimer]] = []
        self._deferrable: list[tuple[int, int, _VirtualTimer]] = []
        self._holds = Holds(longest_hold)

    def now(self) -> datetime:
        """Returns the virtual time of day."""
        return self._start + timedelta(microseconds=self._elapsed // 1_000)

    def monotonic(self) -> float:
        """Returns seconds that this clock was advanced."""
        return self._elapsed / _NANOSECONDS

    async def sleep(self, seconds: float, *, deferrable: bool = False) -> None:
        """Waits until the clock has been advanced that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        timer = self.call_later(seconds, woken.set, deferrable=deferrable)
        try:
            with SERVED.get():
                await woken.wait()
        finally:
            timer.cancel()

    def call_later(self, seconds: float, callback: Callable[[], object], *, deferrable: bool = False) -> Timer:
        """Schedules the callback for a later `advance`."""
        timer = _VirtualTimer(callback)
        due = self._elapsed + _nanoseconds(max(seconds, 0))
        heapq.heappush(self._deferrable if deferrable else self._timers, (due, next(self._order), timer))
        return timer

    def limit(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Schedules the callback for a later `advance`, or for that many real seconds from now."""
        return _Limit(self, seconds, callback)

    def stop_deferring(self) -> None:
        """Makes this clock stop at the moments of all deferrable timers that are set now.

        For a test that begins to observe the work that they do, such as bookmarks of a watch that it disturbs.
        """
        self._timers += self._deferrable
        heapq.heapify(self._timers)
        self._deferrable.clear()

    # Holding

    def hold(self, work: str, name: Hashable | None = None) -> AbstractContextManager[object]:
        """Keeps this clock from moving while the block runs."""
        return self._holds.hold(work, name)

    def serving(self, name: Hashable, *, foreign: bool = False) -> AbstractContextManager[object]:
        """Suspends the hold of that name while the block runs, or sleeps; does nothing if there is none."""
        return self._holds.serving(name, foreign=foreign)

    @property
    def held_by(self) -> list[str]:
        """The work that holds this clock now."""
        return self._holds.work

    # Moving

    @property
    def next_timer(self) -> float | None:
        """Seconds until the earliest timer, or None when nothing waits."""
        dues = [due for heap in (self._timers, self._deferrable) if (due := _next_due(heap)) is not None]
        return (min(dues) - self._elapsed) / _NANOSECONDS if dues else None

    async def advance(self, duration: Duration) -> None:
        """Moves on by that time (seconds, a timedelta, "5m"), running each timer at its moment, then its tasks."""
        if isinstance(duration, int | float) and duration < 0:
            raise ValueError(f"a clock never goes backwards: advance({duration})")
        await self._advance_to(self._elapsed + _nanoseconds(check_duration("duration", duration)))

    async def advance_until(
        self, predicate: Callable[[], bool | Awaitable[bool]], *, limit: Duration = 86_400.0
    ) -> None:
        """Moves from timer to timer until the predicate is true, for at most `limit` of virtual time.

        The predicate is a function without arguments, plain or async. It is asked first without moving, and then
        whenever nothing is left to do at a moment. Raises `TimeoutError` if it is false at the limit, or if no timer is
        left that could change that.
        """
        seconds = check_duration("limit", limit)
        end = self._elapsed + _nanoseconds(seconds)
        await self.settled()
        while not await self._is_true(predicate, end):
            await self._step(end, f"{getattr(predicate, '__qualname__', predicate)} is not true", seconds)

    async def _is_true(self, predicate: Callable[[], bool | Awaitable[bool]], end: int) -> bool:
        found = predicate()
        if inspect.isawaitable(found):
            return await self.run(found, (end - self._elapsed) / _NANOSECONDS)
        return found

    async def run(self, awaitable: Awaitable[T], limit: Duration = 86_400.0) -> T:
        """Awaits something, moving to the next timer whenever nothing else can run; for at most `limit` in all.

        Raises `TimeoutError` if the limit would be passed, or if nothing is left that could finish the awaitable, which
        is then cancelled.
        """
        seconds = check_duration("limit", limit)
        task = asyncio.ensure_future(awaitable)
        end = self._elapsed + _nanoseconds(seconds)
        try:
            await self.settled()
            while not task.done():
                await self._step(end, "not finished", seconds)
            return await task
        finally:
            task.cancel()

    async def settled(self) -> None:
        """Runs everything that can run without time passing: tasks, work that holds this clock, timers that are due.

        Bounded, so a busy loop cannot hang a test.
        """
        await self._advance_to(self._elapsed)

    async def _step(self, end: int, problem: str, limit: float) -> None:
        """Moves to the next timer; to a deferrable one only if there is no other."""
        due = _next_due(self._timers)
        if due is None:
            due = _next_due(self._deferrable)
        if due is None:
            raise TimeoutError(f"{problem}, and no timer is set that could change that")
        if due > end:
            raise TimeoutError(f"{problem} after {limit:g} virtual seconds")
        await self._advance_to(due)

    async def _advance_to(self, target: int) -> None:
        await self._quiet()
        while True:
            due = _next_due(self._timers)
            stop = target if due is None or due > target else max(due, self._elapsed)
            self._elapsed = max(self._elapsed, stop)
            await self._run_due()
            if stop >= target:
                return

    async def _run_due(self) -> None:
        """Runs the timers that are due at this moment, in their order, those that were deferred first."""
        for count in itertools.count():
            heaps = [heap for heap in (self._timers, self._deferrable) if _is_due(heap, self._elapsed)]
            if not heaps:
                return
            if count > _TIMERS_AT_ONE_MOMENT:
                raise RuntimeError(f"timers keep setting timers for the same moment, {self.monotonic()} s")
            heapq.heappop(min(heaps, key=lambda heap: heap[0][:2]))[2].run()
            await self._quiet()

    async def _quiet(self) -> None:
        """Lets every task run that can, and waits for the work that holds this clock."""
        for _ in range(_SETTLE_ROUNDS):
            await _no_task_is_ready()
            if not self._holds.work:
                return
            await self._holds.until_something_is_released()


async def settled(clock: Clock) -> None:
    """Runs everything that can run at this moment; in real time, only the tasks that are ready."""
    if isinstance(clock, VirtualClock):
        await clock.settled()
    else:
        await _no_task_is_ready()


async def _no_task_is_ready() -> None:
    # asyncio's own loop shows when nothing is left to run. uvloop does not: it gets enough rounds for any sensible
    # chain of tasks that wake each other.
    ready = getattr(asyncio.get_running_loop(), "_ready", None)
    for round_ in range(_SETTLE_ROUNDS_BLIND if ready is None else _SETTLE_ROUNDS):
        await asyncio.sleep(0)
        # The first rounds let the loop poll its sockets as well, because other threads wake it through them.
        if ready is not None and not ready and round_ >= 2:
            return


def _next_due(heap: list[tuple[int, int, _VirtualTimer]]) -> int | None:
    while heap and heap[0][2].is_over:
        heapq.heappop(heap)
    return heap[0][0] if heap else None


def _is_due(heap: list[tuple[int, int, _VirtualTimer]], moment: int) -> bool:
    due = _next_due(heap)
    return due is not None and due <= moment


def _nanoseconds(seconds: float) -> int:
    """Returns the nearest number of nanoseconds, but at least one for a positive time.

    Rounding up would put 0.1 + 0.2 s, as floats, after 0.3 s. Rounding to zero would let a component that waits for the
    rest of its deadline, less than a nanosecond away, set the same timer forever.
    """
    return max(round(seconds * _NANOSECONDS), 1) if seconds > 0 else 0
