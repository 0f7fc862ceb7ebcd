"""`WatchAttempts`: the loop that opens a watch again after it has ended or failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from kubewright.clock import Clock
from kubewright.user_code import being_cancelled

__all__ = ["WatchAttempt", "WatchAttempts"]


class WatchAttempt:
    """One watch request: use `with attempt:` around it.

    The block records how the watch ended and does not raise: `error` is None if the server ended the watch. Only the
    cancellation of the current task leaves the block; a `CancelledError` from anywhere else is an error of the request.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._opened_at: float | None = None
        self.error: Exception | None = None
        self.lasted = 0.0
        """For how many seconds the watch was open."""

    def opened(self) -> None:
        """Records that the server has accepted the watch."""
        self._opened_at = self._clock.monotonic()

    @property
    def was_opened(self) -> bool:
        """Whether the server has accepted the watch."""
        return self._opened_at is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._opened_at is not None:
            self.lasted = max(self._clock.monotonic() - self._opened_at, 0.0)
        if isinstance(error, asyncio.CancelledError) and not being_cancelled():
            self.error = RuntimeError("the request was canceled by something else")
            self.error.__cause__ = error
        elif isinstance(error, Exception):
            self.error = error
        return self.error is not None


class WatchAttempts:
    """Attempts to watch, without end: `async for attempt in WatchAttempts(clock, delay_after)`.

    `delay_after` decides what follows an attempt: it returns how many seconds to wait before the next one, or raises
    to end the loop.
    """

    def __init__(self, clock: Clock, delay_after: Callable[[WatchAttempt], Awaitable[float]]) -> None:
        self._clock = clock
        self._delay_after = delay_after
        self._last: WatchAttempt | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchAttempt:
        if self._last is not None:
            await self._clock.sleep(await self._delay_after(self._last))
        self._last = WatchAttempt(self._clock)
        return self._last
