"""Functions of the user that block the event loop are logged, counted and interrupted between events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

import pytest

from kubewright.api import core
from kubewright.cache import Change, Informer, Store
from kubewright.cache._loop_time import LoopTime  # private: measures durations that no test can cause reliably
from kubewright.client import Client
from kubewright.clock import VirtualClock
from tests.transports.memory import MemoryServer


class Timer:
    """A real clock under the control of the test: blocking functions move it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def informer_with(timer: Timer, server: MemoryServer, clock: VirtualClock) -> Informer[core.ConfigMap]:
    informer = Informer(Client(transport=server, clock=clock), core.ConfigMap, clock=clock)
    informer._store.loop_time.timer = timer
    informer._store.loop_time.slices = True
    return informer


@pytest.mark.promise(
    "The stream from the server", "A function that blocks the event loop is logged by its name and counted."
)
async def test_logs_the_name_of_a_handler_that_blocks_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    timer, server, clock = Timer(), MemoryServer(), VirtualClock()
    informer = informer_with(timer, server, clock)

    def slow(change: Change[core.ConfigMap]) -> None:
        timer.now += 0.4

    async with informer:
        await clock.settled()
        informer.add_handler(slow)
        server.put("shop", "a")
        await clock.settled()
        assert informer.health.blocked == 1
        assert informer.health.blocked_seconds == pytest.approx(0.4)
        [message] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        assert message.startswith("ConfigMap (v1): handler ")
        assert "slow blocked the event loop for 400ms (calls: 1): all watches, leases and reconciles waited." in message
        server.put("shop", "b")
        await clock.settled()
        assert informer.health.blocked == 2
        assert caplog.text.count("blocked the event loop") == 1  # at most one warning per function and minute
        timer.now += 60
        server.put("shop", "c")
        await clock.settled()
        assert caplog.text.count("blocked the event loop") == 2


async def test_logs_the_index_function_that_takes_most_of_the_time(caplog: pytest.LogCaptureFixture) -> None:
    timer, server, clock = Timer(), MemoryServer(), VirtualClock()
    informer = informer_with(timer, server, clock)

    def by_price(obj: core.ConfigMap) -> Iterable[str]:
        timer.now += 0.15
        return ("1",)

    def handler(change: Change[core.ConfigMap]) -> None:
        timer.now += 0.01

    informer.add_index("price", by_price)
    informer.add_handler(handler, name="predicate cheap of shop")
    server.put("shop", "a")
    async with informer:
        await clock.settled()
    assert "by_price of 'price' blocked the event loop for 150ms (calls: 1)" in caplog.text
    assert "cheap" not in caplog.text


async def test_many_calls_add_up(caplog: pytest.LogCaptureFixture) -> None:
    loop_time = LoopTime("Foo")
    for _ in range(50):
        loop_time.add("map function m", 0.004)
    assert loop_time.slice_is_over
    await asyncio.sleep(0)
    assert not loop_time.slice_is_over
    assert "Foo: map function m blocked the event loop for 200ms (calls: 50)" in caplog.text


async def test_fast_functions_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    loop_time = LoopTime()
    for _ in range(9):
        loop_time.add("fast", 0.01)
    await asyncio.sleep(0)
    loop_time.add("fast", 0.01)
    await asyncio.sleep(0)
    assert (loop_time.blocked, caplog.text) == (0, "")


def test_measures_nothing_outside_of_an_event_loop() -> None:
    store: Store[core.ConfigMap] = Store()
    store.loop_time.add("slow", 5.0)
    assert not store.loop_time.slice_is_over


@pytest.mark.promise(
    "The stream from the server", "Other tasks run between two events if functions of the user are slow."
)
async def test_other_tasks_run_between_events_of_slow_functions() -> None:
    timer, server, clock = Timer(), MemoryServer(), VirtualClock()
    informer = informer_with(timer, server, clock)
    order: list[str] = []

    async def other() -> None:
        while len(order) < 8:
            order.append("other task")
            await asyncio.sleep(0)

    def slow(change: Change[core.ConfigMap]) -> None:
        timer.now += 0.03
        if not order:
            tasks.append(asyncio.create_task(other()))
        order.append(change.key.name)

    tasks: list[asyncio.Task[None]] = []
    informer.add_handler(slow)
    for name in "abc":
        server.put("shop", name)
    async with informer:
        await clock.settled()
        assert [entry for entry in order if entry != "other task"] == ["a", "b", "c"]
        first, last = order.index("a"), order.index("c")
        assert order[first:last].count("other task") >= 2
    await asyncio.gather(*tasks)


async def test_no_slice_is_over_under_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    loop_time = LoopTime(slices=False)
    monkeypatch.setattr("time.perf_counter", Timer())  # the explorer replaces it
    loop_time.add("slow", 1.0)
    assert not loop_time.slice_is_over
