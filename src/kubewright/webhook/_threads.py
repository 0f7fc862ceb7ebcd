"""`HandlerThreads`: where plain handlers run, a bounded number at a time.

A thread cannot be interrupted: a handler that never returns keeps its own for ever. So one that has been given up does
not count against those that may run at a time, and others go on as before; but nor may threads grow without end. When
as many hang as there may be, nothing but a restart helps, and the log and the readiness of the replica say so.

Where there are several webhooks, each has a `Share` of at most half, of those at a time and of all: one that is slow,
or hangs, leaves the other half to the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from kubewright.clock import Clock, SystemClock
from kubewright.user_code import THREAD_NAME_PREFIX, submitted

__all__ = ["HandlerThreads", "Share"]

logger = logging.getLogger("kubewright.webhook")

T = TypeVar("T")

_AT_A_TIME: Final = 32
_MOST: Final = 128


class HandlerThreads:
    """Threads for plain handlers: `at_a_time` that are waited for, and at `most` so many with those that hang.

    A call holds the clock until it returns or its caller is canceled.
    """

    def __init__(self, *, at_a_time: int = _AT_A_TIME, most: int = _MOST, clock: Clock | None = None) -> None:
        self._at_a_time, self._most = at_a_time, most
        self._clock = clock or SystemClock()
        self._turns = asyncio.Semaphore(at_a_time)
        self._executor = ThreadPoolExecutor(most, thread_name_prefix=f"{THREAD_NAME_PREFIX}webhook")
        self._hanging: set[Future[Any]] = set()

    def share(self, webhook: str, *, alone: bool) -> Share:
        """What one webhook may have: half, unless it is alone."""
        parts = 1 if alone else 2
        return Share(self, webhook, at_a_time=self._at_a_time // parts, most=self._most // parts)

    async def call(self, function: Callable[[], T], leave: Callable[[Future[T]], object], webhook: str = "") -> T:
        """Call a function in a thread, when it is its turn. One that goes on when this is cancelled goes to `leave`."""
        async with self._turns:
            call = submitted(self._executor, function)
            try:
                with self._clock.hold(f"a plain handler of the webhook {webhook}"):
                    return await asyncio.wrap_future(call)
            except asyncio.CancelledError:
                if not call.cancel():
                    self._leave(call)
                    leave(call)
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


class Share:
    """What one webhook has of the threads: `at_a_time` that are waited for, at `most` so many with those that hang."""

    def __init__(self, threads: HandlerThreads, webhook: str, *, at_a_time: int, most: int) -> None:
        self._threads = threads
        self._webhook = webhook
        self._most = most
        self._turns = asyncio.Semaphore(at_a_time)
        self._room = asyncio.Semaphore(most)
        self._hanging = 0

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread, when it is its turn. Who cancels this leaves the function to itself."""
        left = False

        def leave(call: Future[T]) -> None:
            nonlocal left
            left = True
            self._leave(call)

        await self._room.acquire()
        try:
            async with self._turns:
                return await self._threads.call(lambda: function(*arguments), leave, self._webhook)
        finally:
            if not left:
                self._room.release()

    def _leave(self, call: Future[Any]) -> None:
        """Its room is taken until it returns."""
        loop = asyncio.get_running_loop()

        def returned(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop has ended before
                loop.call_soon_threadsafe(self._give_back)

        self._hanging += 1
        call.add_done_callback(returned)
        if self._hanging == self._most and self._threads.problem is None:
            text = "all %d threads that %s may have hang: it is not called until one of them returns"
            logger.error(text, self._most, self._webhook)

    def _give_back(self) -> None:
        self._hanging -= 1
        self._room.release()
