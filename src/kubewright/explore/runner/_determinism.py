"""`deterministic`: the same randomness in each run, virtual sleeps in user code, and a list of calls that escape."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from kubewright.clock import Clock
from kubewright.explore.runner._coverage import Coverage, Programs
from kubewright.watchdog import LoopWatchdog

__all__ = ["Determinism", "deterministic"]

_AUDITED: Final = {
    "socket.connect": "opens a network connection",
    "socket.getaddrinfo": "resolves a host name",
    "subprocess.Popen": "starts a process",
    "os.system": "starts a process",
}
_MAX_DEPTH: Final = 40


class Determinism:
    """The calls of the operator's code that virtual time does not control."""

    def __init__(self, folder: str, programs: Programs) -> None:
        self.found: set[str] = set()
        self.clock: Clock | None = None
        self._folder = folder
        self.coverage = Coverage(folder, self.found.add, programs)

    def is_user_code(self, depth: int) -> bool:
        """Returns whether the caller of the caller is in the program's folder."""
        return sys._getframe(depth + 1).f_code.co_filename.startswith(self._folder)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Notes a call that leaves the process."""
        if event in _AUDITED and not (event == "socket.connect" and isinstance(arguments[1], str | bytes)):
            self.found.add(f"the operator {_AUDITED[event]}")

    def note_thread(self) -> None:
        """Notes a thread that the operator's code starts."""
        if self._is_called_by_user_code():
            self.found.add("the operator starts a thread")

    def _is_called_by_user_code(self) -> bool:
        """Returns whether the program's folder has a frame on the stack: Kubewright itself starts threads, too."""
        frame = sys._getframe(2)
        for _ in range(_MAX_DEPTH):
            if frame.f_code.co_filename.startswith(self._folder):
                return True
            if frame.f_back is None:
                return False
            frame = frame.f_back
        return False


@contextlib.contextmanager
def deterministic(target: str, seed: int, programs: Programs) -> Iterator[Determinism]:
    """Seeds all sources of randomness. Only for a process that ends afterwards: nothing is restored."""
    where = target.rpartition(":")[0] if ".py:" in target else target
    folder = Path(where).resolve().parent if where.endswith(".py") else Path.cwd()
    determinism = Determinism(str(folder), programs)
    random.seed(seed)
    source = random.Random(f"urandom {seed}")  # noqa: S311 - repeatable on purpose
    os.urandom = source.randbytes
    random._urandom = source.randbytes  # type: ignore[attr-defined]
    uuid.uuid4 = lambda: uuid.UUID(bytes=source.randbytes(16), version=4)
    asyncio.sleep = _virtual_sleep(determinism, asyncio.sleep)
    time.sleep = _skipped_sleep(determinism, time.sleep)
    time.time = _virtual_time(
        determinism, time.time, "time.time: use ctx.clock.now", lambda clock: clock.now().timestamp()
    )
    for name in ("monotonic", "perf_counter"):
        advice = f"time.{name}: use ctx.clock.monotonic"
        setattr(time, name, _virtual_time(determinism, getattr(time, name), advice, lambda clock: clock.monotonic()))
    # Its threads measure real time, and a process with threads cannot be forked.
    LoopWatchdog.start = _not_started  # type: ignore[method-assign]
    threading.Thread.start = _noted_start(determinism, threading.Thread.start)  # type: ignore[assignment, method-assign]
    sys.addaudithook(determinism.audit)
    determinism.coverage.start()
    yield determinism


def _not_started(self: LoopWatchdog) -> None:
    """Starts nothing."""


def _noted_start(
    determinism: Determinism, real: Callable[[threading.Thread], None]
) -> Callable[[threading.Thread], None]:
    def start(thread: threading.Thread) -> None:
        determinism.note_thread()
        real(thread)

    return start


def _virtual_sleep(determinism: Determinism, real: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a replacement for `asyncio.sleep` that takes virtual time if user code calls it."""

    def sleep(delay: float, result: Any = None) -> Any:
        if delay > 0 and determinism.clock is not None and determinism.is_user_code(1):
            determinism.found.add("the operator calls asyncio.sleep: use ctx.clock.sleep")
            return _slept(determinism.clock, delay, result)
        return real(delay, result)

    return sleep


async def _slept(clock: Clock, delay: float, result: Any) -> Any:
    await clock.sleep(delay)
    return result


def _skipped_sleep(determinism: Determinism, real: Callable[[Any], None]) -> Callable[[Any], None]:
    def sleep(seconds: Any) -> None:
        if determinism.is_user_code(1):
            determinism.found.add("the operator calls time.sleep, which is skipped")
        else:
            real(seconds)

    return sleep


def _virtual_time(
    determinism: Determinism, real: Callable[[], float], advice: str, virtual: Callable[[Clock], float]
) -> Callable[[], float]:
    def now() -> float:
        if determinism.clock is not None and determinism.is_user_code(1):
            determinism.found.add(f"the operator calls {advice}")
            return virtual(determinism.clock)
        return real()

    return now
