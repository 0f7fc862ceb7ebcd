"""`HandlerThreads`: runs plain handlers in a bounded number of threads.

A thread cannot be interrupted: a handler that never returns keeps its thread. An abandoned call does not count as
concurrent, so others continue; but the number of threads is bounded too. If all threads hang, only a restart helps, and
the log and the readiness check of the replica report it.

With several webhooks, each has a `ThreadQuota` of half the concurrent calls and half the threads. A webhook that is
slow or hangs leaves the other half to the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from kubewright.clock import Clock, SystemClock
from kubewright.counts import counted
from kubewright.user_code import THREAD_NAME_PREFIX, submitted

__all__ = ["HandlerThreads", "ThreadQuota"]

logger = logging.getLogger("kubewright.webhook")

T = TypeVar("T")

_CONCURRENT: Final = 32
_MAX_THREADS: Final = 128
_CALLS_HANG: Final = "abandoned calls of plain webhook handlers still hang"


class HandlerThreads:
    """Threads for plain handlers: at most `concurrent` calls, and at most `most` threads including abandoned calls.

    A call holds the clock until it returns or its caller is canceled.
    """

    def __init__(self, *, concurrent: int = _CONCURRENT, most: int = _MAX_THREADS, clock: Clock | None = None) -> None:
        self._concurrent, self._most = concurrent, most
        self._clock = clock or SystemClock()
        self._slots = asyncio.Semaphore(concurrent)
        self._executor = ThreadPoolExecutor(most, thread_name_prefix=f"{THREAD_NAME_PREFIX}webhook")
        self._hanging: set[Future[Any]] = set()

    def quota(self, webhook: str, *, alone: bool) -> ThreadQuota:
        """Returns the quota of one webhook: half of the threads, or all if it is the only one."""
        parts = 1 if alone else 2
        return ThreadQuota(self, webhook, concurrent=self._concurrent // parts, most=self._most // parts)

    async def call(self, function: Callable[[], T], abandon: Callable[[Future[T]], object], webhook: str = "") -> T:
        """Calls a function in a thread. If this is canceled while the function runs, `abandon` gets its future."""
        async with self._slots:
            call = submitted(self._executor, function)
            try:
                with self._clock.hold(f"a plain handler of the webhook {webhook}"):
                    return await asyncio.wrap_future(call)
            except asyncio.CancelledError:
                if not call.cancel():
                    self._abandon(call)
                    abandon(call)
                raise

    def _abandon(self, call: Future[Any]) -> None:
        self._hanging.add(call)
        call.add_done_callback(self._hanging.discard)
        if problem := self.problem:
            logger.error("%s", problem)
        elif (hanging := len(self._hanging)) and hanging % self._concurrent == 0:
            calls = counted(hanging, "abandoned call of a plain webhook handler still hangs", _CALLS_HANG)
            left = counted(self._most - hanging, "thread is", "threads are")
            logger.error("%s, each in a thread; %s left", calls, left)

    @property
    def hanging(self) -> Collection[object]:
        """The abandoned calls that have not returned."""
        return self._hanging

    @property
    def problem(self) -> str | None:
        """Why no plain handler can be called; None if one can."""
        if len(self._hanging) < self._most:
            return None
        return f"all threads for plain webhook handlers hang ({self._most}): fix the handlers, and restart the process"

    def close(self) -> None:
        """Accepts no further calls. Does not wait for running ones."""
        self._executor.shutdown(wait=False, cancel_futures=True)


class ThreadQuota:
    """The quota of one webhook: at most `concurrent` calls, and at most `most` threads including abandoned calls."""

    def __init__(self, threads: HandlerThreads, webhook: str, *, concurrent: int, most: int) -> None:
        self._threads = threads
        self._webhook = webhook
        self._most = most
        self._slots = asyncio.Semaphore(concurrent)
        self._room = asyncio.Semaphore(most)
        self._hanging = 0

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls a function in a thread. If this is canceled, the function continues, abandoned."""
        abandoned = False

        def abandon(call: Future[T]) -> None:
            nonlocal abandoned
            abandoned = True
            self._abandon(call)

        await self._room.acquire()
        try:
            async with self._slots:
                return await self._threads.call(lambda: function(*arguments), abandon, self._webhook)
        finally:
            if not abandoned:
                self._room.release()

    def _abandon(self, call: Future[Any]) -> None:
        """Keeps the thread of the call reserved until it returns."""
        loop = asyncio.get_running_loop()

        def returned(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(self._release)

        self._hanging += 1
        call.add_done_callback(returned)
        if self._hanging == self._most and self._threads.problem is None:
            message = "all %d threads of %s hang: it is not called until one of them returns"
            logger.error(message, self._most, self._webhook)

    def _release(self) -> None:
        self._hanging -= 1
        self._room.release()
