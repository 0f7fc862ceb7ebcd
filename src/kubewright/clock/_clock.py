"""The clock interface, and the system clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Final, Protocol

__all__ = ["NOTHING", "Clock", "SystemClock", "Timer", "check_clock"]

_METHODS: Final = ("now", "monotonic", "sleep", "call_later", "limit", "hold", "serving")
NOTHING: Final = nullcontext()


class Timer(Protocol):
    """A call that has been scheduled; `cancel` is harmless after it ran."""

    def cancel(self) -> None:
        """Cancels the call."""


class Clock(Protocol):
    """The clock interface. Not thread-safe: use it from the event loop's thread."""

    def now(self) -> datetime:
        """Returns the time of day, in UTC."""

    def monotonic(self) -> float:
        """Returns seconds since an arbitrary moment; never goes backwards."""

    async def sleep(self, seconds: float, *, deferrable: bool = False) -> None:
        """Waits. A negative or zero time still yields once to other tasks. See `call_later` for `deferrable`."""

    def call_later(self, seconds: float, callback: Callable[[], object], *, deferrable: bool = False) -> Timer:
        """Calls back once, after that many seconds, in the event loop.

        A deferrable call does not stop a virtual clock that passes its moment. It runs at the next moment at which the
        clock stops for another reason, before the other calls of that moment. Use it for periodic work that nothing
        observes between two such moments, such as a heartbeat.
        """

    def limit(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Calls back once, after that many seconds of this clock or of real time, whichever pass first.

        Use it to limit work that may run outside the event loop, because such work holds a virtual clock.
        """

    def hold(self, work: str, name: Hashable | None = None) -> AbstractContextManager[object]:
        """Keeps virtual time from moving while the block runs: `with clock.hold("GET the price"): await ...`.

        `work` names the work in the error of a clock that is held too long. `name` identifies it to `serving`.
        """

    def serving(self, name: Hashable, *, foreign: bool = False) -> AbstractContextManager[object]:
        """Suspends the hold of that name while the block runs, because its work waits for this event loop.

        `foreign` code in the block may leave the event loop itself, as an async handler does that calls a service: the
        hold is then suspended only while that code sleeps on this clock. Does nothing if there is no such hold.
        """


def check_clock(given: Clock | None) -> Clock | None:
    """Returns the given clock. Raises TypeError for an object that is not a clock."""
    missing = [name for name in _METHODS if not callable(getattr(given, name, None))]
    if given is not None and (missing or isinstance(given, type)):
        raise TypeError(f"clock must be a Clock, such as VirtualClock(), not {given!r}")
    return given


class SystemClock:
    """The clock of this machine."""

    # Seconds of the monotonic clock. This is the function itself, without a method around it, because the work queue
    # reads the time twice for each key.
    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        """Returns the time of day, in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float, *, deferrable: bool = False) -> None:
        """Waits that many seconds."""
        await asyncio.sleep(max(seconds, 0))

    def call_later(self, seconds: float, callback: Callable[[], object], *, deferrable: bool = False) -> Timer:
        """Schedules the callback on the running event loop."""
        return asyncio.get_running_loop().call_later(max(seconds, 0), callback)

    def limit(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Schedules the callback on the running event loop."""
        return self.call_later(seconds, callback)

    def hold(self, work: str, name: Hashable | None = None) -> AbstractContextManager[object]:
        """Does nothing: real time cannot be held."""
        return NOTHING

    def serving(self, name: Hashable, *, foreign: bool = False) -> AbstractContextManager[object]:
        """Does nothing: real time cannot be held."""
        return NOTHING
