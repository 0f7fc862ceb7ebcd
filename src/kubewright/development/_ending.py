"""Ending in order: signals, and work that ends with what it belongs to."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self

from kubewright.causes import ungrouped

__all__ = ["Ending", "before", "in_background"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ending:
    """Hears Ctrl-C, SIGTERM and the end of the terminal, for the length of a `with` block.

    The first one sets `asked`. The second one makes it `hurried`, and calls `hurry`.
    """

    def __init__(self, hurry: Callable[[], None]) -> None:
        self.asked = asyncio.Event()
        self.hurried = False
        self._hurry = hurry
        self._heard: list[signal.Signals] = []

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                loop.add_signal_handler(number, self._hear)
                self._heard.append(number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in self._heard:
            loop.remove_signal_handler(number)

    def _hear(self) -> None:
        if self.asked.is_set():
            self.hurried = True
            self._hurry()
        self.asked.set()


async def before(asked: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do the work until it is asked to end, which lets it clean up. What it raises is raised."""
    task, end = asyncio.ensure_future(work), asyncio.ensure_future(asked.wait())
    try:
        either: list[asyncio.Future[Any]] = [task, end]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        end.cancel()
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


@asynccontextmanager
async def in_background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do this while the block runs. An error of it ends the block, too."""
    with ungrouped():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
