"""Background tasks with a defined end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

__all__ = ["background", "cancel_and_wait"]


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancels tasks and waits until all have ended. Their results and exceptions are dropped."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def background(work: Coroutine[Any, Any, None], *, name: str) -> AsyncIterator[asyncio.Task[None]]:
    """Runs a coroutine as a task until the block ends, then cancels it and waits for its end."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        await cancel_and_wait(task)
