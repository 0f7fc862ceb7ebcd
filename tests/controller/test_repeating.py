"""Timers and daemons per object."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from kubewright.clock import VirtualClock
from kubewright.controller import BlockingContext, Context, Result
from kubewright.operator import Operator
from tests.controller.conftest import Thing, key, thing, working


@pytest.mark.promise("What wakes a reconciler", "A timer calls its function for each object at each interval.")
async def test_a_timer_is_called_at_each_interval(operator: Operator, clock: VirtualClock) -> None:
    calls: list[tuple[float, str, int]] = []
    began = clock.monotonic()

    @operator.every(Thing, "30s")
    async def poll(obj: Thing, ctx: Context[Thing]) -> None:
        calls.append((clock.monotonic() - began, obj.metadata.name, obj.spec.size))

    async with working(operator, clock) as stage:
        assert stage.controller.name == "thing-poll"
        stage.put(thing("a"))
        await clock.advance(10)
        stage.put(thing("b"))
        stage.put(thing("a", size=5, generation=2))  # a change does not trigger it
        await clock.advance("1m")
        assert calls == [(0, "a", 0), (10, "b", 0), (30, "a", 5), (40, "b", 0), (60, "a", 5), (70, "b", 0)]


async def test_a_timer_ends_with_its_object(operator: Operator, clock: VirtualClock) -> None:
    calls: list[str] = []

    @operator.every(Thing, 30)
    def poll(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        calls.append(obj.metadata.uid or "")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(10)
        stage.put(thing(deletion_timestamp=clock.now(), finalizers=["example.com/hold"]))
        await clock.advance("5m")
        assert calls == ["uid-one"]
        stage.remove(thing())
        stage.put(thing(uid="uid-two"))
        await clock.advance("1m")
        assert calls == ["uid-one", "uid-two", "uid-two", "uid-two"]


async def test_a_timer_backs_off_up_to_its_interval_and_may_set_its_next_time(
    operator: Operator, clock: VirtualClock
) -> None:
    calls: list[float] = []

    @operator.every(Thing, "1s", name="ticks")
    async def poll(obj: Thing, ctx: Context[Thing]) -> Result | None:
        calls.append(clock.monotonic())
        if len(calls) < 12:
            raise RuntimeError("no answer")
        return Result(requeue_after="1h")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance("10s")
        assert len(calls) == 12
        assert calls[-1] - calls[-2] == pytest.approx(1)
        await clock.advance("1h")
        assert len(calls) == 13
        assert stage.controller.stats.reconciles == {"error": 11, "requeue_after": 2}


@pytest.mark.promise("What wakes a reconciler", "A daemon runs beside each object until its deletion.")
async def test_a_daemon_runs_until_its_object_is_deleted(operator: Operator, clock: VirtualClock) -> None:
    events: list[str] = []

    @operator.daemon(Thing)
    async def follow(obj: Thing, ctx: Context[Thing]) -> None:
        name = obj.metadata.name
        events.append(f"{name} starts")
        try:
            while True:
                await ctx.clock.sleep(60)
                current = ctx.get(Thing, name)
                events.append(f"{name} has size {current.spec.size if current else None}")
        finally:
            events.append(f"{name} ends")

    async with working(operator, clock) as stage:
        for number in range(20):
            stage.put(thing(f"n{number}"))
        await clock.settled()
        assert (len(events), stage.controller.stats.active, stage.controller.idle) == (20, 20, True)
        events.clear()
        stage.put(thing("n0", size=3, generation=2))
        await clock.advance(60)
        assert "n0 has size 3" in events
        assert not any(line.endswith(("starts", "ends")) for line in events)
        events.clear()
        stage.put(thing("n0", deletion_timestamp=clock.now(), finalizers=["example.com/hold"]))
        stage.remove(thing("n1"))
        await clock.settled()
        assert sorted(events) == ["n0 ends", "n1 ends"]
        events.clear()
        stage.put(thing("n1", uid="uid-again"))
        await clock.settled()
        assert events == ["n1 starts"]
        events.clear()
    assert len([line for line in events if line.endswith(" ends")]) == 19
    assert stage.controller.stats.interrupted == 0


async def test_a_daemon_is_started_again_after_an_error(operator: Operator, clock: VirtualClock) -> None:
    starts: list[float] = []

    @operator.daemon(Thing)
    async def follow(obj: Thing, ctx: Context[Thing]) -> None:
        starts.append(clock.monotonic())
        if len(starts) == 3:
            await ctx.clock.sleep(120)
        if len(starts) < 5:
            raise ConnectionError("lost")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance("1h")
        waits = [later - earlier for earlier, later in itertools.pairwise(starts)]
        assert waits == pytest.approx([1, 2, 121, 2])  # a run of two minutes starts with the first backoff again
        assert stage.controller.stats.reconciles == {"error": 4, "success": 1}
        stage.put(thing(size=1, generation=2))
        await clock.advance("1h")
        assert len(starts) == 5  # it has returned, so it is done


async def test_a_failing_daemon_does_not_take_the_worker_of_another(operator: Operator, clock: VirtualClock) -> None:
    running: set[str] = set()

    @operator.daemon(Thing)
    async def follow(obj: Thing, ctx: Context[Thing]) -> None:
        if ctx.attempt == 1 and obj.metadata.name == "bad":
            raise ConnectionError("lost")
        running.add(obj.metadata.name)
        await asyncio.Event().wait()

    async with working(operator, clock) as stage:
        stage.put(thing("bad"))
        await clock.settled()
        stage.put(thing("good"))
        await clock.advance(2)
        assert running == {"bad", "good"}
        assert stage.controller.inspect(key("bad")).results[0].error == "ConnectionError: lost"


def test_rejects_a_plain_daemon_and_a_second_name(operator: Operator) -> None:
    def follow(obj: Thing, ctx: BlockingContext[Thing]) -> None: ...

    with pytest.raises(TypeError, match=r"the daemon .*follow is a plain function, which cannot be cancelled"):
        operator.daemon(Thing)(follow)  # type: ignore[arg-type]
    operator.every(Thing, 5)(follow)
    with pytest.raises(ValueError, match="already has a controller 'thing-follow': give the second one another name"):
        operator.every(Thing, 5)(follow)


@pytest.mark.parametrize("interval", [0, -1, "often", None])
def test_rejects_an_invalid_interval(operator: Operator, interval: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="interval must be a duration, such as 30s"):
        operator.every(Thing, interval)


async def test_the_reconciler_of_a_kind_comes_before_its_timers(operator: Operator) -> None:
    @operator.every(Thing, 5)
    async def poll(obj: Thing, ctx: Context[Thing]) -> None: ...

    @operator.finalizes(Thing)
    async def clean(obj: Thing, ctx: Context[Thing]) -> None: ...

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    registrations = operator.registrations()
    assert [(one.name, one.role, len(one.finalizers)) for one in registrations] == [
        ("thing", "reconciler", 1),
        ("thing-poll", "timer", 0),
    ]
