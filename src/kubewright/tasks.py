"""Background tasks and event loops with a defined end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

__all__ = ["LoopThread", "background", "cancel_and_wait", "stop_accepting"]

T = TypeVar("T")


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancels tasks and waits until all have ended. Their results and exceptions are dropped."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def stop_accepting(server: asyncio.Server) -> None:
    """Closes a server, after the connections that it is accepting have reached its handler.

    asyncio accepts a connection in several turns of the event loop. If a server is closed in between, the connection
    stays open, and nothing refers to it.
    """
    loop = asyncio.get_running_loop()
    for listener in server.sockets:
        loop.remove_reader(listener.fileno())
    for _ in range(5):  # asyncio needs three
        await asyncio.sleep(0)
    server.close()


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None], *, name: str) -> AsyncIterator[asyncio.Task[None]]:
    """Runs a coroutine as a task until the block ends, then cancels it and waits for its end."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        await cancel_and_wait(task)


class LoopThread:
    """An event loop in its own thread, for callers that do not run in one, or run in another."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._loop.is_closed()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the loop, from another thread, and returns its result."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # Ctrl-C while waiting must also cancel the work
            future.cancel()
            raise

    def close(self) -> None:
        """Stops the loop and waits for the end of the thread. Does nothing if it is already closed."""
        if not self.closed:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
