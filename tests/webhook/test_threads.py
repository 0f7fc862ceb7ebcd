"""Plain handlers that never return keep only their own threads."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

import kubewright as kw
from kubewright.clock import VirtualClock
from kubewright.observe import Metrics, Sources
from kubewright.webhook._threads import HandlerThreads, ThreadQuota  # private: counts threads without a server
from tests.patience import PATIENCE, until
from tests.unheld_clock import UnheldClock
from tests.webhook.conftest import asking, review
from tests.webhook.kinds import Toy, ToySpec


class Hang:
    """A handler that hangs until it is let go."""

    def __init__(self) -> None:
        self.began = 0
        self.go_on = threading.Event()

    def __call__(self) -> None:
        self.began += 1  # in threads, but each call is waited for before the next one is made
        self.go_on.wait(PATIENCE)


async def give_up(quota: ThreadQuota, hang: Hang) -> None:
    """Call the handler, and do not wait until it returns."""
    before = hang.began
    call = asyncio.create_task(quota.call(hang))
    await until(lambda: hang.began > before)
    call.cancel()
    await asyncio.wait([call])


@pytest.mark.promise(
    "Webhooks",
    "Plain handlers that never return do not take the threads of others, up to a bound that log, metrics and "
    "readiness show.",
)
async def test_abandoned_calls_do_not_count_until_no_thread_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    threads, hang = HandlerThreads(concurrent=2, most=4), Hang()
    quota = threads.quota("check", alone=True)
    try:
        for _ in range(3):
            await give_up(quota, hang)
        [record] = caplog.records
        assert record.levelno == logging.ERROR
        assert record.message == (
            "2 abandoned calls of plain webhook handlers still hang, each in a thread; 2 threads are left"
        )
        assert await quota.call(str, 7) == "7"
        assert threads.problem is None
        await give_up(quota, hang)
        assert len(threads.hanging) == 4
        assert threads.problem == caplog.records[-1].message
        assert threads.problem.startswith("all threads for plain webhook handlers hang (4)")
        waiting = asyncio.create_task(quota.call(str, 8))
        hang.go_on.set()
        assert await waiting == "8", "as soon as one returns"
        await until(lambda: not threads.hanging)
        assert threads.problem is None
    finally:
        hang.go_on.set()
        threads.close()


async def test_limits_concurrent_handlers() -> None:
    threads, hang = HandlerThreads(concurrent=1, most=2), Hang()
    quota = threads.quota("check", alone=True)
    try:
        first = asyncio.create_task(quota.call(hang))
        await until(lambda: hang.began == 1)
        second = asyncio.create_task(quota.call(hang))
        await asyncio.wait([second], timeout=0)
        second.cancel()
        await asyncio.wait([second])
        assert (hang.began, len(threads.hanging)) == (1, 0)
        hang.go_on.set()
        await first
    finally:
        hang.go_on.set()
        threads.close()


@pytest.mark.promise("Webhooks", "Of several webhooks one has half of the threads at most.")
async def test_one_webhook_of_several_has_half_of_the_threads_also_when_it_hangs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    threads, hang = HandlerThreads(concurrent=2, most=4), Hang()
    slow, other = threads.quota("slow.toys", alone=False), threads.quota("other.toys", alone=False)
    try:
        first = asyncio.create_task(slow.call(hang))
        await until(lambda: hang.began == 1)
        second = asyncio.create_task(slow.call(hang))
        assert await other.call(str, 7) == "7", "the second turn is not for the slow one"
        assert hang.began == 1
        first.cancel()  # its turn goes to the next
        await until(lambda: hang.began == 2)
        second.cancel()
        await asyncio.wait([first, second])
        assert caplog.messages == [
            "2 abandoned calls of plain webhook handlers still hang, each in a thread; 2 threads are left",
            "all 2 threads of slow.toys hang: it is not called until one of them returns",
        ]
        third = asyncio.create_task(slow.call(str, 8))
        assert await other.call(str, 9) == "9"
        assert not third.done()
        assert (len(threads.hanging), threads.problem) == (2, None)
        hang.go_on.set()
        assert await third == "8", "as soon as one returns"
    finally:
        hang.go_on.set()
        threads.close()


async def test_canceled_waiter_frees_its_slot() -> None:
    threads, hang = HandlerThreads(concurrent=2, most=4), Hang()
    quota = threads.quota("slow.toys", alone=False)
    try:
        first = asyncio.create_task(quota.call(hang))
        await until(lambda: hang.began == 1)
        for _ in range(5):
            waiting = asyncio.create_task(quota.call(hang))
            await asyncio.wait([waiting], timeout=0)
            waiting.cancel()
            await asyncio.wait([waiting])
        hang.go_on.set()
        await first
        assert await quota.call(str, 7) == "7"
    finally:
        hang.go_on.set()
        threads.close()


@pytest.mark.promise("Webhooks", "Of several webhooks one has half of the threads at most.")
async def test_slow_webhook_does_not_delay_others() -> None:
    operator, clock, hang = kw.Operator("toys"), VirtualClock(), Hang()
    counting = threading.Lock()

    @operator.validates(Toy)
    def slow(toy: Toy) -> None:
        with counting:
            hang.began += 1
        hang.go_on.wait(PATIENCE)

    @operator.defaults(Toy)
    def quick(toy: Toy) -> None:
        toy.spec.color = "red"

    paths = {declared.mutating: declared.path for declared in operator.webhooks.declarations()}
    async with asking(operator, clock) as asker:
        try:
            stuck = [asyncio.create_task(asker.ask(paths[False], review(Toy(spec=ToySpec())))) for _ in range(40)]
            await until(lambda: asker.server.stats.in_flight[paths[False]] == 40)
            await until(lambda: hang.began == 16)
            async with asyncio.timeout(200):
                assert (await asker.ask(paths[True], review(Toy(spec=ToySpec()))))["allowed"] is True
            assert hang.began == 16
        finally:
            hang.go_on.set()
        assert {(await answer)["allowed"] for answer in stuck} == {True}


@pytest.mark.promise(
    "Webhooks",
    "Plain handlers that never return do not take the threads of others, up to a bound that log, metrics and "
    "readiness show.",
)
async def test_responds_while_all_concurrent_handlers_hang() -> None:
    operator, clock, hang = kw.Operator("toys"), UnheldClock(), Hang()
    counting = threading.Lock()

    @operator.validates(Toy)
    def check(toy: Toy) -> None:
        if toy.spec.size == 0:
            with counting:
                hang.began += 1
            hang.go_on.wait(PATIENCE)

    [declared] = operator.webhooks.declarations()
    async with asking(operator, clock) as asker:
        try:
            stuck = [
                asyncio.create_task(asker.ask(declared.path, review(Toy(spec=ToySpec(size=0))), timeout="5s"))
                for _ in range(32)
            ]
            await until(lambda: hang.began == 32)
            await clock.advance(4.0)
            assert {(await answer)["status"]["code"] for answer in stuck} == {504}
            assert (await asker.ask(declared.path, review(Toy(spec=ToySpec(size=1)))))["allowed"] is True
            metrics = Metrics(Sources(webhooks=lambda: [asker.server.stats]))
            assert metrics.registry.get_sample_value("kubewright_webhook_hanging_handlers") == 32
            assert asker.server.problem is None
        finally:
            hang.go_on.set()
