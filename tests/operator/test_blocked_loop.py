"""Blocking code in an async handler is reported with its stack and the handler's name."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from functools import partial

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.cluster import Cluster
from kubewright.controller import handler_in
from kubewright.operator import Operator, _running  # private: replaces the threshold, which is not a setting
from kubewright.operator._blocked_loop import watch_event_loop  # private: the same
from kubewright.watchdog import _busy_frame  # private: how the watchdog recognizes an idle loop
from tests.patience import PATIENCE


class Reported(logging.Handler):
    """Sets an event at the first record."""

    def __init__(self) -> None:
        super().__init__()
        self.event = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "sync of ConfigMap default/a has blocked the event loop" in record.getMessage():
            self.event.set()


@pytest.mark.promise("Watching an operator", "A handler that blocks the event loop is logged with its stack.")
async def test_reports_a_blocking_reconciler_with_its_object_and_stack(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_running, "watch_event_loop", partial(watch_event_loop, threshold=0.05))
    operator, reported = Operator("sleepers", metrics_bind="127.0.0.1:0"), Reported()
    logging.getLogger("kubewright.operator").addHandler(reported)

    def sleep_until_reported() -> None:
        assert reported.event.wait(PATIENCE)

    @operator.reconciles(core.ConfigMap, labels={"sleep": "true"})
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        sleep_until_reported()

    try:
        async with Cluster() as cluster, asyncio.timeout(PATIENCE):
            client = cluster.client()
            async with operator.running(client) as running:
                named = meta.ObjectMeta(name="a", namespace="default", labels={"sleep": "true"})
                await client.create(core.ConfigMap(metadata=named))
                await running.settled()
                while not running.sources.watchdogs()[0].count:  # noqa: ASYNC110  # a thread counts
                    await asyncio.sleep(0.01)  # real: a thread counts
                metrics = operator.metrics.render()[1].decode()
    finally:
        logging.getLogger("kubewright.operator").removeHandler(reported)
    assert "sync of ConfigMap default/a has blocked the event loop for more than 50ms" in caplog.text
    assert "in sleep_until_reported" in caplog.text
    assert "kubewright_event_loop_blocked_total 0.0" not in metrics
    assert "kubewright_event_loop_blocked_total" in metrics


def test_does_not_wake_a_loop_that_waits_for_events() -> None:
    loop = asyncio.SelectorEventLoop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        deadline = time.monotonic() + PATIENCE
        while _busy_frame(thread.ident or 0) is not None:
            assert time.monotonic() < deadline
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_finds_no_handler_outside_of_handlers() -> None:
    assert handler_in(sys._getframe()) == ""
