"""Steps of requests and controllers that block the event loop are counted and logged."""

from __future__ import annotations

import asyncio

import pytest

from kubewright.cluster import Cluster
from kubewright.cluster.machinery import SlowCallbacks
from tests.cluster.conftest import Raw


class Cpu:
    """CPU time and time that pass when a test says so."""

    def __init__(self) -> None:
        self.used = 0.0
        self.now = 0.0
        self.slow = SlowCallbacks(cpu_time=lambda: self.used, monotonic=lambda: self.now)

    async def work(self, *steps: float) -> str:
        for seconds in steps:
            self.used += seconds
            await asyncio.sleep(0)
        return "done"


async def test_counts_each_slow_step_and_returns_the_result() -> None:
    cpu = Cpu()
    assert await cpu.slow.measured("GET /a", cpu.work(0.049, 0.05, 0.1, 0.0)) == "done"
    assert cpu.slow.count == 2
    assert cpu.slow.seconds == pytest.approx(0.15)
    page = cpu.slow.metrics().decode()
    assert "\nkubewright_cluster_slow_callbacks_total 2\n" in page
    assert "\nkubewright_cluster_slow_callbacks_seconds_total 0.150\n" in page


async def test_many_short_steps_are_not_slow() -> None:
    cpu = Cpu()
    await cpu.slow.measured("GET /a", cpu.work(*[0.04] * 10))
    assert cpu.slow.count == 0


async def test_logs_one_slow_step_in_ten_seconds(caplog: pytest.LogCaptureFixture) -> None:
    cpu = Cpu()
    await cpu.slow.measured("POST /api/v1/namespaces", cpu.work(0.06, 0.07, 0.08))
    cpu.now = 10.0
    await cpu.slow.measured("a controller", cpu.work(0.5))
    assert caplog.messages == [
        "POST /api/v1/namespaces blocked the event loop of the embedded cluster for 60 ms",
        "a controller blocked the event loop of the embedded cluster for 500 ms; 2 more since the last warning",
    ]


async def test_errors_and_cancellation_reach_the_measured_work() -> None:
    cpu, seen = Cpu(), list[str]()

    async def fail() -> None:
        cpu.used += 0.06
        raise ValueError("x")

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("canceled")
            raise

    with pytest.raises(ValueError, match="x"):
        await cpu.slow.measured("GET /a", fail())
    assert cpu.slow.count == 1
    task = asyncio.create_task(cpu.slow.measured("GET /a", wait()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["canceled"]


async def test_results_of_futures_reach_the_measured_work() -> None:
    cpu = Cpu()

    async def wait() -> int:
        return await asyncio.get_running_loop().run_in_executor(None, lambda: 7)

    assert await cpu.slow.measured("GET /a", wait()) == 7


async def test_served_cluster_has_the_metric(embedded: Cluster, raw: Raw) -> None:
    await embedded.serve()
    answer = await raw("GET", "/metrics")
    assert answer.status == 200
    assert "\nkubewright_cluster_slow_callbacks_total " in answer.body
