"""Limits the time of handlers, which may run outside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from kubewright.clock import Clock

__all__ = ["TookTooLong", "within"]

T = TypeVar("T")


class TookTooLong(Exception):
    """The time is over."""


async def within(clock: Clock, seconds: float, work: Awaitable[T]) -> T:
    """What the work gives, or `TookTooLong` after so many seconds of the clock or of real time.

    The work is cancelled then, and not waited for: it may not heed that, and a thread cannot.
    """
    task = asyncio.ensure_future(work)
    either: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(_: object = None) -> None:
        if not either.done():
            either.set_result(None)

    task.add_done_callback(wake)
    timer = clock.limit(seconds, wake)
    try:
        await either
        if task.done():
            return task.result()
        raise TookTooLong
    finally:
        timer.cancel()
        if not task.done():
            task.add_done_callback(_forget)
            task.cancel()


def _forget(task: asyncio.Future[Any]) -> None:
    """Nobody asks how it ended."""
    if not task.cancelled():
        task.exception()
