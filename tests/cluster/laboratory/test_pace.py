"""Virtual latency, budgets of writes, and controllers that lag behind."""

from __future__ import annotations

import asyncio

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.api.meta import OwnerReference
from kubewright.client import Client, TooManyRequests
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.cluster.laboratory import WriteBudgetExceeded
from tests.cluster.laboratory.conftest import ONCE, config_map

JANE = User("jane", ("system:masters",))


@pytest.mark.promise("The laboratory of the embedded cluster", "Requests take virtual time, by user.")
async def test_requests_take_virtual_time() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        jane, client = cluster.client(user=JANE), cluster.client()
        with cluster.lab.latency("2s", user="jane"), cluster.lab.latency(0.5, user="jane", verb="get"):
            await clock.run(jane.create(config_map("a")))
            assert clock.monotonic() == 2
            await clock.run(jane.get(core.ConfigMap, "a", "default"))
            assert clock.monotonic() == 2.5
            await client.get(core.ConfigMap, "a", "default")
        await jane.get(core.ConfigMap, "a", "default")
        assert clock.monotonic() == 2.5


async def test_jitter_depends_on_the_seed() -> None:
    ends = []
    for seed in (1, 1, 2):
        clock = VirtualClock()
        async with Cluster(clock=clock, seed=seed) as cluster:
            cluster.lab.latency(1, jitter=1)
            await clock.run(cluster.client().create(config_map("a")))
            ends.append(clock.monotonic())
    assert ends[0] == ends[1] != ends[2]
    assert 1 <= min(ends) <= max(ends) <= 2


async def test_object_may_change_while_a_request_travels() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        jane, client = cluster.client(user=JANE), cluster.client()
        cluster.lab.latency(1, user="jane")
        reading = asyncio.ensure_future(jane.get(core.ConfigMap, "a", "default"))
        await clock.advance(0.5)
        await client.create(config_map("a", k="1"))
        assert not reading.done()
        assert (await clock.run(reading)).data == {"k": "1"}


@pytest.mark.promise("The laboratory of the embedded cluster", "A run that does not stop writing ends with an error.")
async def test_run_beyond_its_write_budget_ends() -> None:
    clock = VirtualClock()
    operator = kw.Operator("restless")

    @operator.reconciles(core.ConfigMap)
    async def sync(found: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        if found.metadata.name == "a":
            number = int((found.data or {}).get("n", "0")) + 1
            await ctx.client.apply(config_map("a", n=str(number)), force=True)

    async with Cluster(clock=clock, seed=1) as cluster:
        cluster.lab.latency(0.002, user="jane")
        budget = cluster.lab.limit_writes(50, user="jane")
        running = operator.running(cluster.client(user=JANE), clock=clock)
        await clock.run(running.__aenter__())
        await cluster.client().create(config_map("a"))
        message = "the run exceeded its budget of 50 writes: 51 times apply configmaps default/a of jane"
        with pytest.raises(WriteBudgetExceeded, match=message):
            await clock.advance(3600)
        assert clock.monotonic() < 1
        assert (budget.used, budget.exceeded) == (51, True)
        with pytest.raises(WriteBudgetExceeded):
            budget.check()
        running.kill()


async def test_writes_beyond_the_budget_are_rejected(cluster: Cluster) -> None:
    client = cluster.client(retry=ONCE)
    with cluster.lab.limit_writes(1) as budget:
        await client.create(config_map("a"))
        await client.create(config_map("b"), dry_run=True)
        with pytest.raises(TooManyRequests, match="exceeded its budget of 1 write"):
            await client.create(config_map("b"))
    await client.create(config_map("b"))
    assert budget.used == 2
    with pytest.raises(ValueError, match="limit must be at least 1, got 0"):
        cluster.lab.limit_writes(0)


async def family(client: Client) -> None:
    owner = await client.create(config_map("owner"))
    owned = config_map("owned")
    reference = OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)
    owned.metadata.owner_references = [reference]
    await client.create(owned)
    await client.delete(core.ConfigMap, "owner", "default")


@pytest.mark.promise(
    "The laboratory of the embedded cluster", "Garbage collection and namespace deletion can be delayed."
)
async def test_delays_garbage_collection() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        client = cluster.client()
        with cluster.lab.delay_garbage_collection(60):
            await family(client)
            await clock.advance(59)
            assert await client.find(core.ConfigMap, "owned", "default") is not None
            await clock.advance(2)
            assert await client.find(core.ConfigMap, "owned", "default") is None
        await family(client)
        await cluster.settled()
        assert await client.find(core.ConfigMap, "owned", "default") is None


@pytest.mark.parametrize("seconds", [None, 600])
async def test_holds_garbage_collection_until_the_end(seconds: float | None) -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        client = cluster.client()
        with cluster.lab.delay_garbage_collection(seconds):
            await family(client)
            await clock.advance(500)
            assert await client.find(core.ConfigMap, "owned", "default") is not None
        await cluster.settled()
        assert await client.find(core.ConfigMap, "owned", "default") is None


@pytest.mark.parametrize("seconds", [None, 60])
async def test_delays_namespace_deletion(seconds: float | None) -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        client = cluster.client()
        held = cluster.lab.delay_namespace_deletion(seconds)
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="x")))
        await cluster.settled()
        await client.create(config_map("a", namespace="x"))
        assert await client.find(core.ServiceAccount, "default", "x") is not None, "filling is not delayed"
        await client.delete(core.Namespace, "x")
        await clock.advance(59)
        assert await client.find(core.ConfigMap, "a", "x") is not None
        if seconds is None:
            held.end()
            await cluster.settled()
        else:
            await clock.advance(2)
        assert await client.find(core.Namespace, "x") is None


async def test_ends_only_its_own_delay() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        client = cluster.client()
        earlier = cluster.lab.delay_garbage_collection(600)
        later = cluster.lab.delay_garbage_collection()
        earlier.end()
        earlier.end()
        await family(client)
        await clock.advance(3600)
        assert await client.find(core.ConfigMap, "owned", "default") is not None
        later.end()
        await cluster.settled()
        assert await client.find(core.ConfigMap, "owned", "default") is None


async def test_second_end_keeps_a_new_delay() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        client = cluster.client()
        first = cluster.lab.delay_namespace_deletion(60)
        first.end()
        cluster.lab.delay_namespace_deletion(60)
        first.end()
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="x")))
        await cluster.settled()
        await client.delete(core.Namespace, "x")
        await clock.advance(59)
        assert await client.find(core.Namespace, "x") is not None
        await clock.advance(2)
        assert await client.find(core.Namespace, "x") is None


async def test_later_delay_also_applies_to_waiting_work() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        client = cluster.client()
        cluster.lab.delay_garbage_collection(60)
        cluster.lab.delay_namespace_deletion(60)
        await family(client)
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="x")))
        await cluster.settled()
        await client.delete(core.Namespace, "x")
        await clock.advance(30)
        later = [cluster.lab.delay_garbage_collection(), cluster.lab.delay_namespace_deletion(600)]
        await clock.advance(599)
        assert await client.find(core.ConfigMap, "owned", "default") is not None
        assert await client.find(core.Namespace, "x") is not None
        await clock.advance(2)
        assert await client.find(core.Namespace, "x") is None
        later[0].end()
        await cluster.settled()
        assert await client.find(core.ConfigMap, "owned", "default") is None
