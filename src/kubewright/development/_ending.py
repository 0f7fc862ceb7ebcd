"""Orderly shutdown: signals, and tasks that end with their block."""

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
    """Handles Ctrl-C, SIGTERM and SIGHUP during a `with` block.

    The first signal sets `asked`. The second one sets `hurried`, and calls `on_second_signal`.
    """

    def __init__(self, on_second_signal: Callable[[], None]) -> None:
        self.asked = asyncio.Event()
        self.hurried = False
        self._on_second_signal = on_second_signal
        self._heard: list[signal.Signals] = []

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                loop.add_signal_handler(number, self._on_signal)
                self._heard.append(number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in self._heard:
            loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        if self.asked.is_set():
            self.hurried = True
            self._on_second_signal()
        self.asked.set()


async def before(asked: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Runs the work until a signal asks it to end, and lets it clean up. Raises its errors."""
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
    """Runs a task while the block runs. Its error ends the block as well."""
    with ungrouped():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
