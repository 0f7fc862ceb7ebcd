"""`LoopWatchdog`: reports calls that block an event loop, from a thread, with their stack.

It samples the stack of the loop's thread. While the loop waits for events, nothing else happens: the loop is not woken.
Otherwise the loop is asked for an answer, and reported if it does not give one in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Final

from kubewright.durations import format_duration

__all__ = ["LoopWatchdog"]

_POLL_SECONDS: Final = 0.05
_THREADS: Final = "/proc/self/task"


class LoopWatchdog:
    """Reports calls that block the running event loop longer than `threshold` seconds.

    `describe` returns the first line of the report for the innermost frame of the blocking call; the log adds its
    stack. `start` and `stop` must be called on the event loop. Time in which threads of this process wait for a CPU, as
    on a busy machine, does not count (Linux). `waited` returns the seconds of it so far.

    Attributes:
        count: how many calls blocked the loop so far.
        seconds: how long they blocked it in total.
    """

    def __init__(
        self,
        log: logging.Logger,
        describe: Callable[[FrameType], str],
        *,
        threshold: float,
        waited: Callable[[], float] | None = None,
    ) -> None:
        self.count = 0
        self.seconds = 0.0
        self._log = log
        self._describe = describe
        self._threshold = threshold
        self._waited = waited or _waited_for_cpu
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts to check the running loop."""
        arguments = (asyncio.get_running_loop(), threading.get_ident())
        name = f"{self._log.name.replace('.', '-')}-watchdog"
        self._thread = threading.Thread(target=self._run, args=arguments, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops checking. The thread ends on its own, without blocking the loop."""
        self._stopped.set()

    def _run(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._stopped.wait(self._threshold / 2):
            if _busy_frame(thread) is None:
                continue
            responded = threading.Event()
            asked, waited = time.monotonic(), self._waited()
            try:
                loop.call_soon_threadsafe(responded.set)
            except RuntimeError:  # the loop is closed
                return
            if not self._exceeds(responded, asked, waited):
                continue
            frame = _busy_frame(thread)
            if frame is None or self._stopped.is_set():
                continue
            stack = "".join(traceback.format_stack(frame))
            self._log.warning("%s; the stack of the blocking call:\n%s", self._describe(frame), stack)
            del frame  # or it would keep the objects of the call alive
            while not responded.wait(_POLL_SECONDS):
                if self._stopped.is_set():
                    return
            blocked = time.monotonic() - asked
            self.count += 1
            self.seconds += blocked
            self._log.warning("the event loop was blocked for %s", format_duration(blocked))

    def _exceeds(self, responded: threading.Event, asked: float, waited: float) -> bool:
        """Waits for a response. Returns True when the threshold has passed without one."""
        left = self._threshold
        while left > 0:
            if responded.wait(max(left, _POLL_SECONDS)) or self._stopped.is_set():
                return False
            left = self._threshold - (time.monotonic() - asked) + (self._waited() - waited)
        return True


def _waited_for_cpu() -> float:
    """Returns the seconds for which threads of this process have waited for a CPU; 0 where only the system knows.

    All threads count: the loop also waits while another thread that holds the interpreter's lock waits for a CPU.
    """
    total = 0
    with contextlib.suppress(OSError):
        for thread in os.listdir(_THREADS):
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"{_THREADS}/{thread}/schedstat") as file:
                total += int(file.read().split()[1])
    return total / 1e9


def _busy_frame(thread: int) -> FrameType | None:
    """Returns the innermost frame of a thread; None if its event loop waits for events."""
    frame = sys._current_frames().get(thread)
    if frame is None or (frame.f_code.co_name == "select" and frame.f_globals.get("__name__") == "selectors"):
        return None
    return frame
