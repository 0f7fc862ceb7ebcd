"""`Chores`: what a scheduler or a kubelet has to do, each in a task, against a server that may be away for a while."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from kubewright.client import ApiError, Conflict, NotFound, Timeout, TooManyRequests, Unavailable
from kubewright.clock import Clock

__all__ = ["RETRY_SECONDS", "Chores"]

T = TypeVar("T")
_log = logging.getLogger(__name__)

RETRY_SECONDS = 0.2


class Chores:
    """Tasks that belong to somebody. One that fails with what cannot be handled is logged, and raised at the end."""

    def __init__(self, owner: str, clock: Clock) -> None:
        self._owner = owner
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._errors: list[BaseException] = []

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do that, beside everything else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def end(self) -> None:
        """Give up what is not done yet."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def check(self) -> None:
        """Raise the first error that could not be handled, if there was one."""
        if self._errors:
            raise self._errors[0]

    async def insist(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """Try until the server has decided. None when the object is gone, or is another one by now."""
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
        # A namespace that is going away takes no more changes; whose it was does not care about its pods.
        if isinstance(error, ApiError) and "being terminated" in str(error):
            return
        _log.error("%s failed", self._owner, exc_info=error)
        self._errors.append(error)
