"""SIGTERM and SIGINT: once for a graceful stop, twice for an end now."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from kubewright.durations import format_duration
from kubewright.operator.process._exit_codes import ExitCode

__all__ = ["Signals"]

logger = logging.getLogger("kubewright.operator")

_ASKING = (signal.SIGTERM, signal.SIGINT)
_POKE = signal.SIGURG  # nobody minds it: it is ignored unless somebody asks for it
_POKE_EVERY = 0.1
_NOW = 3.0  # seconds between the second signal and the end of the process, whatever still runs
_LAST_WORDS = 0.5
_END = b"\0"


class Signals:
    """Hears the signals for the length of a `with` block, in the main thread; elsewhere there are none to hear.

    It holds although a reconciler blocks the event loop: the handlers are Python's own, not the loop's, and all they do
    is to tell a thread, which ends the process if nothing else does.

    Python calls handlers in the main thread alone, when that comes back from what it does. But the system may give a
    signal to any thread; two that come together are often taken by another one, and a blocking call of the main thread
    is not interrupted then. So the thread is also told of signals as they arrive (`set_wakeup_fd`), passes that on to
    the event loop, which wants to know too, and interrupts the main thread's call by a signal that is meant for it.

    A process that is forked from this one, as `multiprocessing` does it, is as it would be without: `terminate()` ends
    it, and is not told to the operator.
    """

    _heard_now: Signals | None = None
    _watches_forks = False

    def __init__(self, stop_now: Callable[[], object]) -> None:
        self._stop_now = stop_now
        self._loop = asyncio.get_running_loop()
        self._asked = asyncio.Event()
        self._before: dict[signal.Signals, Any] = {}
        self._main = threading.main_thread().ident or 0
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)

    async def first(self) -> None:
        """Wait for the first signal."""
        await self._asked.wait()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._heard_end, self._tell_end = os.pipe()
            self._arrived_end, arriving = self._pipes = os.pipe()
            os.set_blocking(arriving, False)
            self._before = {number: signal.signal(number, self._handle) for number in _ASKING}
            self._before[_POKE] = signal.signal(_POKE, lambda *_: None)
            self._pass_on_to = signal.set_wakeup_fd(arriving, warn_on_full_buffer=False)
            self._thread.start()
            Signals._heard_now = self
            if not Signals._watches_forks:  # which nobody can end again
                Signals._watches_forks = True
                os.register_at_fork(after_in_child=_in_child)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._before:
            return
        Signals._heard_now = None
        signal.set_wakeup_fd(self._pass_on_to)
        self._give_back()
        os.write(self._tell_end, _END)
        self._thread.join()
        for end in (self._heard_end, self._tell_end, *self._pipes):
            os.close(end)

    def _give_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        os.write(self._tell_end, bytes([number]))

    # In the thread

    def _listen(self) -> None:
        count, end, poking = 0, math.inf, False
        while True:
            ends = [self._heard_end, self._arrived_end]
            ready, _, _ = select.select(ends, [], [], _POKE_EVERY if poking else None)
            for number in os.read(self._heard_end, 16) if self._heard_end in ready else b"":
                if not number:
                    return
                count += 1
                end = time.monotonic() + _NOW if count == 2 else end
                self._loop.call_soon_threadsafe(self._obey, count, signal.Signals(number).name)
            if self._arrived_end in ready:
                arrived = os.read(self._arrived_end, 64).replace(bytes([_POKE]), b"")
                poking = poking or any(number in _ASKING for number in arrived)
                self._pass_on(arrived)
            elif not ready:
                signal.pthread_kill(self._main, _POKE)  # which arrives here too: only when nothing else did
            if time.monotonic() >= end:
                _leave()

    def _pass_on(self, arrived: bytes) -> None:
        if arrived and self._pass_on_to >= 0:
            with contextlib.suppress(OSError):  # it is full: whoever reads there knows already
                os.write(self._pass_on_to, arrived)

    # In the event loop

    def _obey(self, count: int, name: str) -> None:
        if count == 1:
            logger.info("%s: stopping; running reconciles may finish, once more stops at once", name)
            self._asked.set()
        elif count == 2:
            logger.warning("%s: stopping at once", name)
            self._stop_now()


def _in_child() -> None:
    """The pipes are the parent's, also in a process that was forked: what is written there, the parent would obey."""
    if (heard := Signals._heard_now) is not None:
        Signals._heard_now = None
        signal.set_wakeup_fd(-1)
        heard._give_back()


def _leave() -> None:
    # In a thread of its own: whoever is stuck may hold the log, and must not hold up the end.
    last_words = threading.Thread(target=_say, daemon=True)
    last_words.start()
    last_words.join(_LAST_WORDS)
    os._exit(ExitCode.INTERRUPTED)


def _say() -> None:
    logger.error("the operator does not end by itself within %s; leaving", format_duration(_NOW))
    logging.shutdown()
