"""A coroutine in a thread of its own, with an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["Apart", "Here"]

_LOOK_EVERY = 1.0

Work = Callable[[], Coroutine[Any, Any, None]]


class Here:
    """A task in this event loop."""

    def __init__(self, work: Work, name: str) -> None:
        self._task = asyncio.get_running_loop().create_task(work(), name=name)
        self._cancelled = False

    async def stop(self) -> None:
        """Cancels it and wait for its end, as often as it is called."""
        if not self._cancelled:
            self._cancelled = True
            self._task.cancel()
        await asyncio.wait([self._task])


class Apart:
    """A thread. Code that blocks this event loop does not block the work there."""

    def __init__(self, work: Work, name: str) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._lock = threading.Lock()
        self._stopping = False
        self._cancel: Callable[[], object] | None = None
        # A daemon: a program that ends without stopping it must not be kept alive by it.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        finally:
            with contextlib.suppress(RuntimeError):  # that loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._end)

    async def _main(self) -> None:
        task = asyncio.ensure_future(self._work())
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)  # so that cancelling it does not keep it from beginning, and so from ending properly
        with self._lock:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            if self._stopping:
                task.cancel()
        while not task.done():
            await asyncio.wait([task], timeout=_LOOK_EVERY)
            if self._loop.is_closed() and not self._stopping:
                self._stopping = True  # a program that is gone without a word leads nothing
                task.cancel()
        with self._lock:
            self._cancel = None

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def stop(self) -> None:
        """Cancels the work and wait for its end, as often as it is called."""
        with self._lock:
            if not self._stopping:
                self._stopping = True
                if self._cancel is not None:
                    self._cancel()
        await asyncio.shield(self._ended)
        self._thread.join()
