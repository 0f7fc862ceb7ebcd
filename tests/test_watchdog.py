"""The watchdog of an event loop does not report a busy machine."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from kubewright.watchdog import LoopWatchdog
from tests.patience import PATIENCE


class Waited:
    """The time in which the process waits for a CPU: all of it. Notices when it was read several times."""

    def __init__(self) -> None:
        self.read_often = threading.Event()
        self._reads = 0

    def __call__(self) -> float:
        self._reads += 1
        if self._reads == 5:
            self.read_often.set()
        return time.monotonic()


async def test_time_in_which_the_process_waits_for_a_cpu_does_not_count(caplog: pytest.LogCaptureFixture) -> None:
    waited = Waited()
    watchdog = LoopWatchdog(logging.getLogger("test"), lambda _: "blocked", threshold=0.01, waited=waited)
    watchdog.start()
    blocked = waited.read_often.wait(PATIENCE)  # blocks the event loop, for several thresholds
    watchdog.stop()
    assert blocked
    assert watchdog.count == 0
    assert not caplog.records
