"""The watchdog reports callbacks that block the event loop of a served cluster."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from kubewright.cluster import Cluster
from kubewright.cluster.serving._blocked_loop import make_watchdog, metrics_of  # private: a short threshold
from tests.cluster.conftest import Raw
from tests.patience import PATIENCE, until


class Reported(logging.Handler):
    """Sets an event at the first record."""

    def __init__(self) -> None:
        super().__init__()
        self.event = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.event.set()


async def test_reports_blocked_loop_with_its_stack(caplog: pytest.LogCaptureFixture) -> None:
    reported = Reported()
    logger = logging.getLogger("kubewright.cluster")
    logger.addHandler(reported)
    watchdog = make_watchdog(threshold=0.05)
    watchdog.start()
    try:

        def block_until_reported() -> None:
            assert reported.event.wait(PATIENCE)

        asyncio.get_running_loop().call_soon(block_until_reported)
        await until(lambda: watchdog.count)
    finally:
        watchdog.stop()
        logger.removeHandler(reported)
    assert "in block_until_reported" in caplog.text
    assert watchdog.seconds >= 0.05
    assert f"kubewright_cluster_event_loop_blocked_total {watchdog.count}\n" in metrics_of(watchdog).decode()


async def test_served_cluster_has_metrics(embedded: Cluster, raw: Raw) -> None:
    assert (await raw("GET", "/metrics")).status == 501
    await embedded.serve()
    answer = await raw("GET", "/metrics")
    assert answer.status == 200
    assert "\nkubewright_cluster_event_loop_blocked_total " in answer.body
