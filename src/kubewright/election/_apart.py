"""Runs a coroutine in its own thread, with its own event loop."""

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
    """Runs the work as a task in this event loop."""

    def __init__(self, work: Work, name: str) -> None:
        self._task = asyncio.get_running_loop().create_task(work(), name=name)
        self._cancelled = False

    async def stop(self) -> None:
        """Cancels the work and waits for its end. Can be called repeatedly."""
        if not self._cancelled:
            self._cancelled = True
            self._task.cancel()
        await asyncio.wait([self._task])


class Apart:
    """Runs the work in a thread, which code that blocks this event loop does not block."""

    def __init__(self, work: Work, name: str) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._lock = threading.Lock()
        self._stopping = False
        self._cancel: Callable[[], object] | None = None
        # A daemon, so that a program that ends without stopping it is not kept alive.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        finally:
            with contextlib.suppress(RuntimeError):  # that loop is closed: no task waits
                self._loop.call_soon_threadsafe(self._end)

    async def _main(self) -> None:
        task = asyncio.ensure_future(self._work())
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)  # so that a cancellation does not keep it from starting, and so from ending properly
        with self._lock:
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            if self._stopping:
                task.cancel()
        while not task.done():
            await asyncio.wait([task], timeout=_LOOK_EVERY)
            if self._loop.is_closed() and not self._stopping:
                self._stopping = True  # a program that was killed leads nothing
                task.cancel()
        with self._lock:
            self._cancel = None

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def stop(self) -> None:
        """Cancels the work and waits for its end. Can be called repeatedly."""
        with self._lock:
            if not self._stopping:
                self._stopping = True
                if self._cancel is not None:
                    self._cancel()
        await asyncio.shield(self._ended)
        self._thread.join()
