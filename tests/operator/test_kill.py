"""A killed operator does nothing more: no request, no timer, no `finally` block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.laboratory import Incoming, Served
from kubewright.operator import Killed, Running


class BoxSpec(kw.Model):
    size: int = 0


class BoxStatus(kw.Model):
    parts: int = 0


@kw.resource("boxes.example.com/v1")
class Box(kw.Resource[BoxSpec, BoxStatus]):
    """Owns two ConfigMaps."""


def make_operator(log: list[str], pause: float = 0) -> kw.Operator:
    operator = kw.Operator("boxer")

    @operator.reconciles(Box, owns=[core.ConfigMap])
    async def sync(box: Box, ctx: kw.Context[Box]) -> None:
        try:
            for part in ("one", "two"):
                await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=part), data={"size": str(box.spec.size)}))
                log.append(part)
                await ctx.clock.sleep(pause)
            await ctx.set_status(BoxStatus(parts=2))
        finally:
            log.append("finally")
            await ctx.client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="from-finally", namespace="default")))

    return operator


def box() -> Box:
    return Box(metadata=meta.ObjectMeta(name="b", namespace="default"), spec=BoxSpec(size=1))


@asynccontextmanager
async def clustered(clock: VirtualClock) -> AsyncIterator[Cluster]:
    async with Cluster(clock=clock, seed=1) as cluster:
        yield cluster


def written_by(cluster: Cluster) -> list[str]:
    entries = [entry for entry in cluster.lab.journal if entry.wrote and entry.resource == "configmaps"]
    return [entry.name for entry in entries if entry.manager == "boxer-create"]


@pytest.mark.promise(
    "Running an operator", "A killed run under virtual time sends no request, fires no timer and runs no finally block."
)
async def test_killed_run_does_nothing_more() -> None:
    clock, log = VirtualClock(), list[str]()
    async with clustered(clock) as cluster:
        lab = cluster.lab
        running = make_operator(log, pause=10).running(cluster, clock=clock)
        async with running:
            await cluster.client().create(box())
            await clock.advance(5)
            assert log == ["one"]
            before = clock.monotonic()
            running.kill()
            running.kill()
            assert running.killed
        assert clock.monotonic() == before
        number = lab.journal[-1].number
        await clock.advance(3600)
        assert log == ["one"]
        assert [entry for entry in lab.journal_since(number) if entry.user == "kubewright-admin"] == []
        assert [watch for watch in cluster.state.watchers if watch.storage == "boxes.example.com/boxes"] == []
        with pytest.raises(RuntimeError, match="the operator was killed"):
            await running.settled()


async def test_killed_run_leaves_no_timer_on_the_clock() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1, controllers=False) as cluster:
        idle = clock.next_timer
        async with make_operator([]).running(cluster, clock=clock) as running:
            await clock.advance(0.5)
            running.kill()
        assert clock.next_timer == idle


@pytest.mark.parametrize("nth", [1, 2])
async def test_kill_before_a_write_prevents_it(nth: int) -> None:
    clock, log = VirtualClock(), list[str]()
    async with clustered(clock) as cluster:
        running = make_operator(log).running(cluster, clock=clock)

        async def kill(_: Incoming) -> None:
            running.kill()

        async with running:
            cluster.lab.on_request(kill, verb="write", kind=core.ConfigMap, nth=nth)
            await cluster.client().create(box())
            await clock.advance(600)
        assert written_by(cluster) == log == ["one", "two"][: nth - 1]


async def test_kill_after_a_write_withholds_the_response() -> None:
    clock, log = VirtualClock(), list[str]()
    async with clustered(clock) as cluster:
        running = make_operator(log).running(cluster, clock=clock)

        def kill(_: Served) -> None:
            running.kill()

        async with running:
            cluster.lab.on_request(kill, when="after", verb="create", kind=core.ConfigMap, nth=1)
            await cluster.client().create(box())
            await clock.advance(600)
        (entry,) = [entry for entry in cluster.lab.journal if entry.manager == "boxer-create"]
        assert (entry.name, entry.wrote, entry.status) == ("one", True, 0)
        assert log == []


async def test_another_run_takes_over_after_a_kill() -> None:
    clock, log = VirtualClock(), list[str]()
    async with clustered(clock) as cluster:
        client = cluster.client()
        operator = make_operator(log)
        async with operator.running(cluster, clock=clock) as first:
            first.kill()
            await client.create(box())
        async with make_operator(log).running(cluster, clock=clock):
            await clock.advance(60)
        assert log[:3] == ["one", "two", "finally"]
        assert (await client.get(Box, "b", "default")).status.parts == 2


async def test_kill_during_the_start_raises_killed() -> None:
    clock = VirtualClock()
    async with clustered(clock) as cluster:
        running = make_operator([]).running(cluster, clock=clock)
        cluster.lab.on_request(lambda _: running.kill(), verb="list", kind=Box)
        cluster.lab.on_request(lambda _: running.kill(), verb="watch", kind=Box)
        with pytest.raises(Killed, match="operator boxer was killed while it started"):
            await clock.run(running.__aenter__())
        assert running.killed


async def test_killed_leader_keeps_its_lease() -> None:
    clock = VirtualClock()
    async with clustered(clock) as cluster:
        operators = [kw.Operator("boxer", leader_elect=True) for _ in range(2)]
        for operator in operators:
            operator.reconciles(Box)(_ignore)
        options = {"lease_namespace": "default"}
        async with operators[0].running(cluster, clock=clock, **options) as first:  # type: ignore[arg-type]
            await clock.run(first.wait_for_leadership())
            first.kill()
            killed_at = clock.monotonic()
            async with operators[1].running(cluster, clock=clock, **options) as second:  # type: ignore[arg-type]
                await clock.run(second.wait_for_leadership())
                assert clock.monotonic() - killed_at > 10


async def _ignore(box: Box, ctx: kw.Context[Box]) -> None:
    pass


async def test_components_of_a_killed_run_are_not_closed() -> None:
    clock, log = VirtualClock(), list[str]()
    operator = make_operator(log)

    @asynccontextmanager
    async def component(_: Running) -> AsyncIterator[None]:
        try:
            yield
        finally:
            log.append("closed")

    operator.attach(component)
    async with clustered(clock) as cluster:
        async with operator.running(cluster, clock=clock) as running:
            running.kill()
        await clock.advance(60)
        assert log == []


async def test_plain_handler_is_cut_off() -> None:
    clock, log = VirtualClock(), list[str]()
    operator = kw.Operator("boxer")

    @operator.reconciles(Box)
    def sync(box: Box, ctx: kw.BlockingContext[Box]) -> None:
        try:
            ctx.set_status(BoxStatus(parts=1))
            log.append("written")
        finally:
            log.append("finally")

    async with clustered(clock) as cluster:
        running = operator.running(cluster, clock=clock)
        cluster.lab.on_request(lambda _: running.kill(), subresource="status")
        async with running:
            await cluster.client().create(box())
            await clock.advance(600)
        assert log == []


async def test_real_time_run_cannot_be_killed() -> None:
    async with Cluster(seed=1) as cluster, make_operator([]).running(cluster) as running:
        with pytest.raises(RuntimeError, match=r"operator boxer cannot be killed: enter .* with a VirtualClock first"):
            running.kill()


def test_suspended_code_is_closed_when_the_event_loop_ends() -> None:
    log: list[str] = []

    async def main() -> None:
        clock = VirtualClock()
        async with clustered(clock) as cluster, make_operator(log, pause=10).running(cluster, clock=clock) as running:
            await cluster.client().create(box())
            await clock.advance(5)
            running.kill()
            assert log == ["one"]

    asyncio.run(main())
    assert log == ["one", "finally"]
