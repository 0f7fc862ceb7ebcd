"""`Tasks`: background work of a scheduler or kubelet, with retries while the server is unavailable."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from kubewright.client import ApiError, Conflict, NotFound, Timeout, TooManyRequests, Unavailable
from kubewright.clock import Clock

__all__ = ["RETRY_SECONDS", "BackgroundTasks"]

T = TypeVar("T")
_log = logging.getLogger(__name__)

RETRY_SECONDS = 0.2


class BackgroundTasks:
    """Background tasks of one owner. An unexpected error is logged, and raised by `check`."""

    def __init__(self, owner: str, clock: Clock) -> None:
        self._owner = owner
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._errors: list[BaseException] = []

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts a task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def end(self) -> None:
        """Cancels all tasks."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def check(self) -> None:
        """Raises the first unexpected error, if there was one."""
        if self._errors:
            raise self._errors[0]

    async def retry(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """Retries while the server is unavailable. Returns None if the object is gone or was replaced."""
        while True:
            try:
                return await call()
            except (NotFound, Conflict):
                return None
            except (Timeout, TooManyRequests, Unavailable):
                await self._clock.sleep(RETRY_SECONDS)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        # A terminating namespace accepts no new objects, and its pods do not matter any more.
        if isinstance(error, ApiError) and "being terminated" in str(error):
            return
        _log.error("%s failed", self._owner, exc_info=error)
        self._errors.append(error)
