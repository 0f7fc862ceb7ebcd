"""`HandlerThreads`: where plain handlers run, a bounded number at a time.

A thread cannot be interrupted: a handler that never returns keeps its own for ever. So one that has been given up does
not count against those that may run at a time, and others go on as before; but nor may threads grow without end. When
as many hang as there may be, nothing but a restart helps, and the log and the readiness of the replica say so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from kubewright._foreign import submitted
from kubewright.controller._controller import THREADS

__all__ = ["HandlerThreads"]

logger = logging.getLogger("kubewright.webhook")

T = TypeVar("T")

_AT_A_TIME: Final = 32
_MOST: Final = 128


class HandlerThreads:
    """Threads for plain handlers: `at_a_time` that are waited for, and at `most` so many with those that hang."""

    def __init__(self, *, at_a_time: int = _AT_A_TIME, most: int = _MOST) -> None:
        self._at_a_time, self._most = at_a_time, most
        self._turns = asyncio.Semaphore(at_a_time)
        self._executor = ThreadPoolExecutor(most, thread_name_prefix=f"{THREADS}webhook")
        self._hanging: set[Future[Any]] = set()

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread, when it is its turn. Who cancels this leaves the function to itself."""
        async with self._turns:
            call = submitted(self._executor, function, *arguments)
            try:
                return await asyncio.wrap_future(call)
            except asyncio.CancelledError:
                if not call.cancel():
                    self._leave(call)
                raise

    def _leave(self, call: Future[Any]) -> None:
        self._hanging.add(call)
        call.add_done_callback(self._hanging.discard)
        if problem := self.problem:
            logger.error("%s", problem)
        elif (hanging := len(self._hanging)) and hanging % self._at_a_time == 0:
            text = (
                "%d calls of plain webhook handlers were given up and still hang, each in a thread; %d threads are left"
            )
            logger.error(text, hanging, self._most - hanging)

    @property
    def hanging(self) -> Collection[object]:
        """The calls that were given up and have not returned."""
        return self._hanging

    @property
    def problem(self) -> str | None:
        """Why no plain handler can be called any more; None while one can."""
        if len(self._hanging) < self._most:
            return None
        return f"all {self._most} threads for plain webhook handlers hang: they must return, or the process start again"

    def close(self) -> None:
        """Take no more calls. Those that run are not waited for."""
        self._executor.shutdown(wait=False, cancel_futures=True)
