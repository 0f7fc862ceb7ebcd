"""SIGTERM and SIGINT: the first requests a graceful stop, the second an immediate one."""

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

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_WAKEUP = signal.SIGURG  # ignored by default
_WAKEUP_SECONDS = 0.1
_KILL_SECONDS = 3.0  # between the second signal and the end of the process, whatever still runs
_LOG_SECONDS = 0.5
_END = b"\0"


class Signals:
    """Handles the signals within a `with` block in the main thread. In another thread it does nothing.

    It works even while a reconciler blocks the event loop: the handlers are Python's own, not the loop's, and only
    notify a thread, which ends the process if nothing else does.

    Python runs signal handlers only in the main thread, between two bytecode instructions. But the kernel may deliver a
    signal to any thread. If another thread receives it, a blocking system call of the main thread is not interrupted.
    So the thread also reads signals as they arrive (`set_wakeup_fd`), forwards them to the event loop, which uses the
    same mechanism, and interrupts the main thread with a signal sent to it.

    A process that is forked from this one, as by `multiprocessing`, has the previous handlers: `terminate()` ends it,
    and does not stop the operator.
    """

    _active: Signals | None = None
    _watches_forks = False

    def __init__(self, stop_now: Callable[[], object]) -> None:
        self._stop_now = stop_now
        self._loop = asyncio.get_running_loop()
        self._first = asyncio.Event()
        self._previous: dict[signal.Signals, Any] = {}
        self._main = threading.main_thread().ident or 0
        self._thread = threading.Thread(target=self._listen, name="signals", daemon=True)

    async def first(self) -> None:
        """Waits for the first signal."""
        await self._first.wait()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._signals_out, self._signals_in = os.pipe()
            self._wakeup_out, wakeup_in = self._pipes = os.pipe()
            os.set_blocking(wakeup_in, False)
            self._previous = {number: signal.signal(number, self._handle) for number in _STOP_SIGNALS}
            self._previous[_WAKEUP] = signal.signal(_WAKEUP, lambda *_: None)
            self._loop_fd = signal.set_wakeup_fd(wakeup_in, warn_on_full_buffer=False)
            self._thread.start()
            Signals._active = self
            if not Signals._watches_forks:  # cannot be undone
                Signals._watches_forks = True
                os.register_at_fork(after_in_child=_in_child)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._previous:
            return
        Signals._active = None
        signal.set_wakeup_fd(self._loop_fd)
        self._restore_handlers()
        os.write(self._signals_in, _END)
        self._thread.join()
        for end in (self._signals_out, self._signals_in, *self._pipes):
            os.close(end)

    def _restore_handlers(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        os.write(self._signals_in, bytes([number]))

    # In the thread

    def _listen(self) -> None:
        count, deadline, waking = 0, math.inf, False
        while True:
            pipes = [self._signals_out, self._wakeup_out]
            ready, _, _ = select.select(pipes, [], [], _WAKEUP_SECONDS if waking else None)
            for number in os.read(self._signals_out, 16) if self._signals_out in ready else b"":
                if not number:
                    return
                count += 1
                deadline = time.monotonic() + _KILL_SECONDS if count == 2 else deadline
                self._loop.call_soon_threadsafe(self._handle_in_loop, count, signal.Signals(number).name)
            if self._wakeup_out in ready:
                arrived = os.read(self._wakeup_out, 64).replace(bytes([_WAKEUP]), b"")
                waking = waking or any(number in _STOP_SIGNALS for number in arrived)
                self._forward(arrived)
            elif not ready:
                signal.pthread_kill(self._main, _WAKEUP)  # only after a quiet interval, because it arrives here too
            if time.monotonic() >= deadline:
                _exit()

    def _forward(self, arrived: bytes) -> None:
        if arrived and self._loop_fd >= 0:
            with contextlib.suppress(OSError):  # the pipe is full, so the event loop will wake up anyway
                os.write(self._loop_fd, arrived)

    # In the event loop

    def _handle_in_loop(self, count: int, name: str) -> None:
        if count == 1:
            logger.info("%s: stopping; running reconciles may finish, a second signal stops immediately", name)
            self._first.set()
        elif count == 2:
            logger.warning("%s: stopping immediately", name)
            self._stop_now()


def _in_child() -> None:
    """Restores the previous handlers in a forked process: it shares the pipes, so its signals would stop the parent."""
    if (signals := Signals._active) is not None:
        Signals._active = None
        signal.set_wakeup_fd(-1)
        signals._restore_handlers()


def _exit() -> None:
    # In a thread, because the code that hangs may hold the lock of a log handler.
    logging_thread = threading.Thread(target=_log_exit, daemon=True)
    logging_thread.start()
    logging_thread.join(_LOG_SECONDS)
    os._exit(ExitCode.INTERRUPTED)


def _log_exit() -> None:
    logger.error("the operator does not stop within %s; exiting", format_duration(_KILL_SECONDS))
    logging.shutdown()
