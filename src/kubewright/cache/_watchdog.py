"""`Watchdog`: ends a wait that takes too long, on the injected clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from kubewright.clock import Clock, Timer
from kubewright.durations import format_duration

__all__ = ["Stalled", "Watchdog"]


class Stalled(Exception):
    """Nothing came for too long."""


class Watchdog:
    """Raises `Stalled` in its block when `heard` was not called for that many seconds.

    A connection can die without anyone being told (a firewall that forgets it, a machine that was switched off): then a
    watch waits for ever. `heard` is cheap; one timer serves for the whole block.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._fired = False
        self._may_stall: Callable[[], bool] = lambda: True
        self._timer: Timer | None = None

    def heard(self) -> None:
        """All is well so far."""
        self._last = self._clock.monotonic()

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self.heard()
        self._set_timer(self._seconds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # Somebody else may have cancelled the task at the same moment, and must win.
        if self._fired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise Stalled(f"nothing was heard for {format_duration(self._seconds)}")

    def trust(self, may_stall: Callable[[], bool]) -> None:
        """Let a virtual clock not stop for this, as long as what is waited for cannot stall."""
        self._may_stall = may_stall
        if self._timer is not None:
            self._timer.cancel()
        self._set_timer(self._seconds)

    def _set_timer(self, seconds: float) -> None:
        self._timer = self._clock.call_later(seconds, self._look, deferrable=not self._may_stall())

    def _look(self) -> None:
        left = self._last + self._seconds - self._clock.monotonic()
        if left > 0.001:  # less than that may be nothing but rounding
            self._set_timer(left)
        else:
            self._fired = True
            self._task.cancel()
