"""`raise RetryLater(...)`: a retry with a delay, and one line in the log."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest

import kubewright as kw
from kubewright.clock import VirtualClock
from kubewright.controller import BlockingContext, Context, RetryLater
from kubewright.operator import Operator
from tests.controller.conftest import Thing, key, thing, working


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, bool]]:
    return [
        (one.levelname, one.getMessage(), one.exc_info is not None)
        for one in caplog.records
        if one.name.startswith("kubewright.controller") and one.levelno > logging.INFO
    ]


@pytest.mark.promise("How a reconcile ends", "RetryLater: requeued after its time, one line, no traceback, no error.")
async def test_retries_after_the_given_time_with_one_line(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[float] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        calls.append(clock.monotonic())
        if len(calls) == 1:
            raise kw.RetryLater("the bucket is not reachable", after="60s")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance("59s")
        assert len(calls) == 1
        assert stage.controller.inspect(key()).results[0].error == "RetryLater: the bucket is not reachable"
        await clock.advance(1)
        assert calls[1] - calls[0] == 60
        assert stage.controller.stats.reconciles == {"requeue_after": 1, "success": 1}
        assert stage.recorded() == []
    [(level, message, traceback)] = lines(caplog)
    assert (level, traceback) == ("WARNING", False)
    assert message.endswith("the bucket is not reachable; retrying in 1m")


async def test_uses_the_backoff_without_a_time(operator: Operator, clock: VirtualClock) -> None:
    attempts: list[int] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        attempts.append(ctx.attempt)
        raise RetryLater("not yet")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(0.035)
        assert attempts == [1, 2, 3, 4]
        assert stage.controller.stats.reconciles == {"requeue": 4}


async def test_a_change_comes_before_the_retry(operator: Operator, clock: VirtualClock) -> None:
    sizes: list[int] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        sizes.append(obj.spec.size)
        raise RetryLater("not yet", after=timedelta(hours=1))

    async with working(operator, clock) as stage:
        stage.put(thing(size=1))
        await clock.settled()
        stage.put(thing(size=2, generation=2))
        await clock.settled()
    assert sizes == [1, 2]


async def test_records_an_event_on_request(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        raise RetryLater("the bucket is not reachable", after=60, event=True)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance("5m")
        [(event)] = stage.recorded()
        assert event == ("RetryLater", "the bucket is not reachable")
        assert stage.recorder.stats.repeated == 5


async def test_works_in_a_plain_function_and_in_a_task_group(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing)
    def plain(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        raise RetryLater("not yet", after=60)

    async def fail() -> None:
        raise RetryLater("not yet", after=60)

    @operator.reconciles(Thing, name="group")
    async def group(obj: Thing, ctx: Context[Thing]) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail())

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
        assert [one.stats.reconciles for one in stage.controllers] == [{"requeue_after": 1}] * 2


async def test_keeps_the_finalizer_of_a_cleanup_that_waits(operator: Operator, clock: VirtualClock) -> None:
    calls: list[str] = []

    @operator.finalizes(Thing)
    async def clean(obj: Thing, ctx: Context[Thing]) -> None:
        calls.append(obj.metadata.name)
        raise RetryLater("the bucket is not empty", after="10s")

    async with working(operator, clock) as stage:
        stage.put(thing(deletion_timestamp=clock.now(), finalizers=["example.com/thing-operator"]))
        await clock.advance("20s")
    assert calls == ["one"] * 3


@pytest.mark.parametrize(("after", "error"), [("soon", ValueError), (-1, ValueError), ([], TypeError)])
def test_rejects_an_invalid_time(after: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"after must be a duration, such as 30s"):
        RetryLater("not yet", after=after)
