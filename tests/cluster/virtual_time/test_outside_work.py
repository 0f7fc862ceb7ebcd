"""Every kind of work outside the event loop holds virtual time while a test advances it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import Client, Timeout, load_config
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster

HOUR = 3600.0
A_WHILE = 0.005
"""Real seconds, in which an unheld clock passes days."""


class NoteSpec(kw.Model):
    text: str = ""


@kw.resource("outside.example.com/v1", storage=True)
class Note(kw.Resource[NoteSpec, None]):
    """Written every hour."""


@kw.resource("outside.example.com/v1beta1", kind="Note", storage=False)
class OldNote(kw.Resource[NoteSpec, None]):
    """The same, in an earlier version."""


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def cluster(clock: VirtualClock) -> AsyncIterator[Cluster]:
    async with Cluster(clock=clock) as cluster:
        yield cluster


def hourly(operator: kw.Operator) -> None:
    """Let the operator write a Note every hour, named after the time."""

    operator.needs(Note, verbs=["create"])

    @operator.reconciles(core.ConfigMap, labels={"hourly": "yes"}, reads=[Note])
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> kw.Result:
        name = f"at-{ctx.clock.monotonic():.0f}"
        await ctx.create(Note(metadata=meta.ObjectMeta(name=name), spec=NoteSpec(text=name)))
        return kw.Result(requeue_after=HOUR)


async def times_of(client: Client) -> list[int]:
    return sorted(int(note.metadata.name.removeprefix("at-")) for note in await client.list(Note, "default"))


async def a_day(cluster: Cluster, clock: VirtualClock, running: kw.Running) -> list[int]:
    client = cluster.client()
    place = meta.ObjectMeta(name="a", namespace="default", labels={"hourly": "yes"})
    await client.create(core.ConfigMap(metadata=place))
    await clock.advance(24 * HOUR)
    await running.settled()
    return await times_of(client)


EVERY_HOUR = [int(hour * HOUR) for hour in range(25)]


async def test_async_webhook_handler_that_calls_a_service_holds_the_clock(
    cluster: Cluster, clock: VirtualClock
) -> None:
    operator = kw.Operator("notes")
    hourly(operator)

    @operator.validates(Note)
    async def check(note: Note) -> None:
        await asyncio.to_thread(time.sleep, A_WHILE)

    async with operator.running(cluster, clock=clock) as running:
        assert await a_day(cluster, clock, running) == EVERY_HOUR


async def test_webhook_handler_that_sleeps_on_the_clock_is_timed_by_it(cluster: Cluster, clock: VirtualClock) -> None:
    operator = kw.Operator("notes")
    hourly(operator)

    @operator.validates(Note)
    async def check(note: Note) -> None:
        await clock.sleep(2)

    async with operator.running(cluster, clock=clock) as running:
        assert (await a_day(cluster, clock, running))[:3] == [0, 3602, 7204]


async def test_plain_conversion_holds_the_clock(cluster: Cluster, clock: VirtualClock) -> None:
    operator = kw.Operator("notes")
    hourly(operator)

    @operator.converts(OldNote, Note)
    def up(old: OldNote) -> Note:
        time.sleep(A_WHILE)  # real: work that takes longer than a turn of the loop
        return Note(metadata=old.metadata, spec=old.spec)

    @operator.converts(Note, OldNote)
    def down(new: Note) -> OldNote:
        time.sleep(A_WHILE)  # real: work that takes longer than a turn of the loop
        return OldNote(metadata=new.metadata, spec=new.spec)

    async with operator.running(cluster, clock=clock) as running:
        assert await a_day(cluster, clock, running) == EVERY_HOUR
        olds = await cluster.client().list(OldNote, "default")
        assert len(olds) == 25


async def test_async_reconciler_holds_the_clock_for_a_call_that_it_marks(cluster: Cluster, clock: VirtualClock) -> None:
    operator, ended = kw.Operator("notes"), list[float]()

    @operator.reconciles(core.ConfigMap, labels={"hourly": "yes"}, timeout=60)
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        with ctx.clock.hold("the call of a service"):
            await asyncio.to_thread(time.sleep, A_WHILE)
        ended.append(clock.monotonic())

    async with operator.running(cluster, clock=clock) as running:
        await a_day_without_notes(cluster, clock)
        assert ended == [0]
        assert running.controllers[0].stats.timeouts == 0


async def a_day_without_notes(cluster: Cluster, clock: VirtualClock) -> None:
    place = meta.ObjectMeta(name="a", namespace="default", labels={"hourly": "yes"})
    await cluster.client().create(core.ConfigMap(metadata=place))
    clock.call_later(HOUR, lambda: None)
    await clock.advance(24 * HOUR)


async def test_operator_over_https_with_leader_election_keeps_virtual_time(
    cluster: Cluster, clock: VirtualClock
) -> None:
    await cluster.serve()
    operator = kw.Operator("notes")
    hourly(operator)
    async with operator.running(
        kubeconfig=str(cluster.kubeconfig()), clock=clock, leader_elect=True, lease_namespace="default"
    ) as running:
        await clock.run(running.wait_for_leadership())
        place = meta.ObjectMeta(name="a", namespace="default", labels={"hourly": "yes"})
        await cluster.client().create(core.ConfigMap(metadata=place))
        await running.settled()
        start = clock.monotonic()
        await clock.advance(HOUR)
        await running.settled()
        assert running.is_leader
        assert await times_of(cluster.client()) == [round(start), round(start + HOUR)]


async def test_request_over_https_that_the_cluster_delays_does_not_block_the_clock(
    cluster: Cluster, clock: VirtualClock
) -> None:
    await cluster.serve()
    config = load_config(kubeconfig=cluster.kubeconfig())
    async with Client(config, clock=clock) as client:
        ahead = str(cluster.state.storage.revision + 1000)
        with pytest.raises(Timeout, match="Too large resource version"):  # which the server waits for, for 3 s
            await clock.run(client.list_page(core.ConfigMap, "default", resource_version=ahead))
    assert clock.monotonic() >= 3
