"""Timers and daemons of a running operator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import kubewright as kw
from kubewright.api import meta
from kubewright.cache import ObjectKey
from kubewright.client import MergePatch
from kubewright.cluster import Cluster
from kubewright.operator import Operator
from tests.patience import PATIENCE


class ProbeSpec(kw.Model):
    size: int = 0


class ProbeStatus(kw.Model):
    seen: int = 0


@kw.resource("repeating.example.com/v1")
class Probe(kw.Resource[ProbeSpec, ProbeStatus]):
    """Has a daemon."""


def has_seen(size: int) -> Callable[[Probe], bool]:
    return lambda found: found.status.seen == size


async def test_a_daemon_writes_the_status_of_the_current_object_and_ends_with_it() -> None:
    operator, ended, wake = Operator("probes"), asyncio.Event(), asyncio.Event()

    @operator.daemon(Probe)
    async def follow(obj: Probe, ctx: kw.Context[Probe]) -> None:
        try:
            while True:
                await wake.wait()
                wake.clear()
                current = ctx.get(Probe, obj.metadata.name)
                assert current is not None
                await ctx.patch_status(seen=current.spec.size)
        finally:
            ended.set()

    async with Cluster() as cluster, asyncio.timeout(PATIENCE):
        client = cluster.client()
        async with operator.running(client) as running:
            await client.create(Probe(metadata=meta.ObjectMeta(name="a", namespace="default"), spec=ProbeSpec(size=1)))
            for size in (1, 2, 3):
                await client.patch(Probe, "a", MergePatch({"spec": {"size": size}}), "default")
                await running.settled()
                wake.set()
                await client.wait_for(Probe, "a", has_seen(size), "default")
            assert running.controllers[0].queue.state(ObjectKey("default", "a")).running_for is not None
            await client.delete(Probe, "a", "default")
            await ended.wait()
            await running.settled()
            assert not running.controllers[0].stats.reconciles["error"]


async def test_daemons_stop_with_the_operator_and_start_with_it_again() -> None:
    operator, events, started = Operator("probes"), list[str](), asyncio.Event()

    @operator.daemon(Probe)
    async def follow(obj: Probe, ctx: kw.Context[Probe]) -> None:
        events.append("starts")
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ends")

    async with Cluster() as cluster, asyncio.timeout(PATIENCE), cluster.client() as client:
        async with operator.running(client, leader_elect=True, lease_namespace="default") as running:
            await running.wait_for_leadership()
            await client.create(Probe(metadata=meta.ObjectMeta(name="a", namespace="default"), spec=ProbeSpec()))
            await started.wait()
        assert events == ["starts", "ends"]
        async with operator.running(client) as running:
            await running.settled()
            assert events == ["starts", "ends", "starts"]
        assert running.interrupted == 0
