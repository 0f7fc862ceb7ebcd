"""What a controller does when its process does not lead any more."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from kubewright.clock import VirtualClock
from kubewright.controller import Context
from kubewright.election import NotLeader
from kubewright.operator import Operator
from tests.controller.conftest import Stage, Thing, key, thing


def stage(operator: Operator, clock: VirtualClock, leads: list[bool]) -> Stage:
    """Controllers that work, and lead while the list says so."""
    made = Stage(operator, clock)
    made.synced()
    controller = made.controller
    controller._environment = replace(controller._environment, leads=lambda: leads[-1])
    controller.start()
    return made


@pytest.mark.promise(
    "Running an operator",
    "A lost lease ends the work at once; nothing is begun, written or retried any more.",
)
async def test_starts_and_retries_nothing_after_the_lease_was_lost(operator: Operator, clock: VirtualClock) -> None:
    leads, seen = [True], list[str]()

    @operator.reconciles(Thing, concurrency=1)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)
        leads.append(False)
        raise NotLeader("patch things: not sent")

    on = stage(operator, clock, leads)
    on.put(thing("one"))
    on.put(thing("two"))
    await clock.advance(3600)
    assert seen == ["one"]
    assert on.controller.queue.state(key("one")).ready_in is None
    await on.controller.stop(grace=0)


async def test_not_leader_of_another_election_is_an_ordinary_error(operator: Operator, clock: VirtualClock) -> None:
    attempts: list[int] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        attempts.append(ctx.attempt)
        if len(attempts) < 3:
            raise NotLeader("of an elector that the reconciler has made itself")

    on = stage(operator, clock, [True])
    on.put(thing())
    await clock.advance(60)
    assert attempts == [1, 2, 3]
    await on.controller.stop(grace=0)


@pytest.mark.promise(
    "Running an operator",
    "The grace period passes on the injected clock, and what is cut short is counted.",
)
async def test_the_grace_period_passes_on_the_injected_clock(operator: Operator, clock: VirtualClock) -> None:
    ended: list[float] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(clock.monotonic())

    on = stage(operator, clock, [True])
    on.put(thing())
    await clock.settled()
    stopping = asyncio.create_task(on.controller.stop(grace=600))
    await clock.advance(599)
    assert not stopping.done()
    await clock.advance(1)
    await stopping
    assert ended == [600.0]
    assert on.controller.stats.interrupted == 1
