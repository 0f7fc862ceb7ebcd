"""`Watchdog`: checks from a thread whether an event loop responds."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from typing import Final

__all__ = ["Watchdog"]

_log: Final = logging.getLogger("kubewright.cluster")
_THRESHOLD_SECONDS: Final = 0.5
_POLL_SECONDS: Final = 0.05
_METRICS: Final = """\
# HELP kubewright_cluster_event_loop_blocked_total Callbacks that blocked the event loop of the cluster.
# TYPE kubewright_cluster_event_loop_blocked_total counter
kubewright_cluster_event_loop_blocked_total {count}
# HELP kubewright_cluster_event_loop_blocked_seconds_total Seconds for which callbacks blocked the event loop.
# TYPE kubewright_cluster_event_loop_blocked_seconds_total counter
kubewright_cluster_event_loop_blocked_seconds_total {seconds:.3f}
"""


class Watchdog:
    """Reports callbacks that block the running event loop longer than `threshold` seconds.

    `start` and `stop` must be called on the event loop. A loop that only waits for a CPU is not reported.

    Attributes:
        count: how many callbacks blocked the loop so far.
        seconds: for how long they blocked it, in all.
    """

    def __init__(self, *, threshold: float = _THRESHOLD_SECONDS) -> None:
        self.count = 0
        self.seconds = 0.0
        self._threshold = threshold
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts to check the running loop."""
        arguments = (asyncio.get_running_loop(), threading.get_ident())
        self._thread = threading.Thread(
            target=self._run, args=arguments, name="kubewright-cluster-watchdog", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stops checking. The thread ends on its own, without blocking the loop."""
        self._stopped.set()

    def metrics(self) -> bytes:
        """Returns the counters in the text format of Prometheus."""
        return _METRICS.format(count=self.count, seconds=self.seconds).encode()

    def _run(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        while not self._stopped.wait(self._threshold / 2):
            responded = threading.Event()
            asked = time.monotonic()
            try:
                loop.call_soon_threadsafe(responded.set)
            except RuntimeError:  # the loop is closed
                return
            if responded.wait(self._threshold):
                continue
            stack = _stack_of(thread)
            if stack is None or self._stopped.is_set():
                continue
            _log.warning(
                "the event loop of the embedded cluster is blocked for more than %g s, so no request is served;"
                " the stack of the blocking call:\n%s",
                self._threshold,
                stack,
            )
            while not responded.wait(_POLL_SECONDS):
                if self._stopped.is_set():
                    return
            blocked = time.monotonic() - asked
            self.count += 1
            self.seconds += blocked
            _log.warning("the event loop of the embedded cluster was blocked for %.1f s", blocked)


def _stack_of(thread: int) -> str | None:
    """Returns the stack of a thread; None if its event loop waits for events."""
    frame = sys._current_frames().get(thread)
    if frame is None or (frame.f_code.co_name == "select" and frame.f_globals.get("__name__") == "selectors"):
        return None
    return "".join(traceback.format_stack(frame))
