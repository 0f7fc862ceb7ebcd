"""SIGTERM and SIGINT: once for a graceful stop, twice for an end now."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from kubewright.operator._exit import ExitCode

__all__ = ["Signals"]

logger = logging.getLogger("kubewright.operator")

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_NOW = 3.0  # seconds between the second signal and the end of the process, whatever still runs
_LAST_WORDS = 0.5


class Signals:
    """Hears the signals for the length of a `with` block, in the main thread; elsewhere there are none to hear.

    The handlers are Python's own, not the event loop's: a reconciler that blocks the loop does not keep them from being
    called, and the second signal ends the process even then.
    """

    def __init__(self, stop_now: Callable[[], object]) -> None:
        self._stop_now = stop_now
        self._loop = asyncio.get_running_loop()
        self._asked = asyncio.Event()
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}
        self._last_resort: threading.Timer | None = None

    async def first(self) -> None:
        """Wait for the first signal."""
        await self._asked.wait()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._heard) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._last_resort is not None:
            self._last_resort.cancel()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        self._loop.call_soon_threadsafe(self._obey, self._count, signal.Signals(number).name)
        if self._count == 2:
            self._last_resort = threading.Timer(_NOW, _leave)
            self._last_resort.daemon = True
            self._last_resort.start()

    def _obey(self, count: int, name: str) -> None:
        if count == 1:
            logger.info("%s: stopping; running reconciles may finish, once more stops at once", name)
            self._asked.set()
        elif count == 2:
            logger.warning("%s: stopping at once", name)
            self._stop_now()


def _leave() -> None:
    # In a thread of its own: whoever is stuck may hold the log, and must not hold up the end.
    last_words = threading.Thread(target=_say, daemon=True)
    last_words.start()
    last_words.join(_LAST_WORDS)
    os._exit(ExitCode.INTERRUPTED)


def _say() -> None:
    logger.error("the operator does not end by itself within %g s; leaving", _NOW)
    logging.shutdown()
