"""Time limits on an injected clock.

`CancelScope` interrupts a block of the current task, as `asyncio.timeout` does. `within` limits work that may not react
to its cancellation, such as a function in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Self, TypeVar

from kubewright.clock._clock import Clock

__all__ = ["CancelScope", "TimeLimitExceeded", "within"]

T = TypeVar("T")


class TimeLimitExceeded(TimeoutError):
    """The work took longer than its limit. A `TimeoutError` that the work raises itself is not one of these."""


class CancelScope:
    """A block of the current task that can be interrupted: `with CancelScope() as scope: ...`.

    After `scope.cancel(error)` the block is cancelled and raises that error. If the task itself is cancelled as well,
    its `CancelledError` wins.
    """

    def __init__(self) -> None:
        self._error: Exception | None = None
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        if self._task is None:
            raise RuntimeError("CancelScope must be used in a task")
        self._cancelling = self._task.cancelling()
        return self

    def cancel(self, error: Exception) -> None:
        """Interrupts the block. Does nothing before the block, after it, and the second time."""
        if self._task is not None and self._error is None:
            self._error = error
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        assert task is not None
        if self._error is not None:
            # As in asyncio.timeout: take back this scope's cancellation, and no other.
            only_this = task.uncancel() <= self._cancelling
            if only_this and kind is not None and issubclass(kind, asyncio.CancelledError):
                raise self._error from None


async def within(clock: Clock, seconds: float, work: Awaitable[T], *, real_time: bool = False) -> T:
    """Returns the result of the work. Raises `TimeLimitExceeded` after that many seconds of the clock.

    With `real_time`, the limit also ends after that many real seconds: work in a thread holds a virtual clock.

    At the limit, and if the caller is cancelled, the work is cancelled and not awaited: it may ignore that.
    """
    task = asyncio.ensure_future(work)
    either: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(_: object = None) -> None:
        if not either.done():
            either.set_result(None)

    task.add_done_callback(wake)
    timer = (clock.limit if real_time else clock.call_later)(seconds, wake)
    try:
        await either
        if task.done():
            return task.result()
        raise TimeLimitExceeded
    finally:
        timer.cancel()
        task.add_done_callback(_retrieve)  # it may have failed in the turn in which the caller was cancelled
        task.cancel()


def _retrieve(task: asyncio.Future[Any]) -> None:
    """Retrieves the exception of abandoned work, which asyncio would log otherwise."""
    if not task.cancelled():
        task.exception()
