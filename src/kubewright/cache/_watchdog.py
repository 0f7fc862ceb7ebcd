"""`Watchdog`: ends a wait that takes too long, on the injected clock."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from kubewright.clock import CancelScope, Clock, Timer
from kubewright.durations import format_duration

__all__ = ["Stalled", "Watchdog"]


class Stalled(Exception):
    """The server sent nothing for too long."""


class Watchdog:
    """Raises `Stalled` in its block if `heard` is not called for that many seconds.

    A connection can die silently, for example if a firewall drops its state or a machine loses power. A watch on such a
    connection would wait indefinitely. `heard` is cheap: one timer serves the whole block.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._scope = CancelScope()
        self._may_stall: Callable[[], bool] = lambda: True
        self._timer: Timer | None = None

    def heard(self) -> None:
        """Restarts the countdown."""
        self._last = self._clock.monotonic()

    def __enter__(self) -> Self:
        self._scope.__enter__()
        self.heard()
        self._set_timer(self._seconds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._scope.__exit__(kind, error, trace)

    def trust(self, may_stall: Callable[[], bool]) -> None:
        """Makes the timer deferrable on a virtual clock while `may_stall` returns False."""
        self._may_stall = may_stall
        if self._timer is not None:
            self._timer.cancel()
        self._set_timer(self._seconds)

    def _set_timer(self, seconds: float) -> None:
        self._timer = self._clock.call_later(seconds, self._check, deferrable=not self._may_stall())

    def _check(self) -> None:
        left = self._last + self._seconds - self._clock.monotonic()
        if left > 0.001:  # a smaller rest may be a rounding error
            self._set_timer(left)
        else:
            self._scope.cancel(Stalled(f"nothing was received for {format_duration(self._seconds)}"))
