"""Priorities of objects and of requeues."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.clock import VirtualClock
from kubewright.controller import Context, Result
from kubewright.operator import Operator
from tests.controller.conftest import Stage, Thing, key, thing


def started(stage: Stage) -> None:
    stage.synced()
    for controller in stage.controllers:
        controller.start()


@pytest.mark.promise("The queue", "Objects with a higher priority go first, also in the initial list.")
async def test_objects_of_a_higher_priority_go_first(operator: Operator, clock: VirtualClock) -> None:
    order: list[str] = []

    @operator.reconciles(Thing, priority=lambda obj: obj.spec.size, concurrency=1)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        order.append(obj.metadata.name)

    stage = Stage(operator, clock)
    for name, size in (("low", -5), ("usual", 0), ("high", 10)):
        stage.put(thing(name, size=size))
    for name, size in (("listed", 0), ("listed-high", 200)):
        stage.put(thing(name, size=size), initial=True)
    started(stage)
    await clock.settled()
    await stage.controller.stop(0)
    assert order == ["listed-high", "high", "usual", "low", "listed"]


async def test_a_change_of_low_priority_keeps_its_trigger(operator: Operator, clock: VirtualClock) -> None:
    triggers: list[str] = []

    @operator.reconciles(Thing, priority=lambda obj: -5)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        triggers.append(ctx.trigger)

    stage = Stage(operator, clock)
    stage.put(thing())
    started(stage)
    await clock.settled()
    await stage.controller.stop(0)
    assert triggers == ["added"]


@pytest.mark.parametrize("found", ["high", None, True])
async def test_a_function_that_fails_gives_priority_0(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture, found: Any
) -> None:
    def tier_of(obj: Thing) -> int:
        return found  # type: ignore[no-any-return]

    @operator.reconciles(Thing, priority=tier_of)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    stage = Stage(operator, clock)
    stage.put(thing())
    assert stage.controller.queue.state(key()).priority == 0
    assert "tier_of failed for default/one; its priority is 0" in caplog.text
    await stage.controller.stop(0)


async def test_a_result_sets_the_priority_of_its_requeue(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result:
        return Result(requeue_after="5m", priority=obj.spec.size)

    stage = Stage(operator, clock)
    stage.put(thing(size=7))
    started(stage)
    await clock.settled()
    assert stage.controller.queue.state(key()).priority == 7
    await stage.controller.stop(0)


def test_rejects_a_priority_without_a_requeue() -> None:
    with pytest.raises(ValueError, match=r"priority requires a requeue: add requeue=True or requeue_after="):
        Result(priority=5)
    with pytest.raises(TypeError, match="priority must be a whole number, such as 10, not 'high'"):
        Result(requeue=True, priority="high")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [5, lambda: 3])
def test_rejects_a_priority_that_is_not_a_function_of_an_object(operator: Operator, given: Any) -> None:
    with pytest.raises(TypeError, match="priority must be a function of an object that returns a whole number"):
        operator.reconciles(Thing, priority=given)
