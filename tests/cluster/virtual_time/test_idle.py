"""Idle virtual time is nearly free: periodic work that nothing observes does not stop the clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import kubewright as kw
from kubewright.api import apps, core, meta
from kubewright.api.coordination import Lease
from kubewright.clock import Timer, VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.workloads import Workloads

DAY = 86_400.0
HEARTBEAT = timedelta(seconds=10)


class CountingClock(VirtualClock):
    """Counts the timers that fire."""

    def __init__(self) -> None:
        super().__init__()
        self.fired = 0

    def call_later(self, seconds: float, callback: Callable[[], object], *, deferrable: bool = False) -> Timer:
        def count() -> None:
            self.fired += 1
            callback()

        return super().call_later(seconds, count, deferrable=deferrable)


def deployment(replicas: int) -> apps.Deployment:
    labels = {"app": "web"}
    pod = core.PodSpec(containers=[core.Container(name="web", image="web")])
    template = core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=labels), spec=pod)
    selector = meta.LabelSelector(match_labels=labels)
    spec = apps.DeploymentSpec(replicas=replicas, selector=selector, template=template)
    return apps.Deployment(metadata=meta.ObjectMeta(name="web", namespace="default"), spec=spec)


async def test_idle_month_of_ten_nodes_and_a_hundred_pods_fires_few_timers() -> None:
    clock, seen = CountingClock(), list[str]()
    operator = kw.Operator("watcher")

    @operator.reconciles(apps.Deployment, owns=[core.Pod])
    async def sync(deployment: apps.Deployment, ctx: kw.Context[apps.Deployment]) -> None:
        seen.append(ctx.trigger)

    cluster = Cluster(clock=clock, workloads=Workloads(nodes=10))
    async with cluster, cluster.client() as client, operator.running(cluster, clock=clock) as running:
        await client.create(deployment(100))
        await clock.advance(2 * 3600)  # events of the start are gone
        await running.settled()
        assert (await client.get(apps.Deployment, "web", "default")).status.ready_replicas == 100
        clock.fired = 0
        seen.clear()
        await clock.advance(30 * DAY)
        assert clock.fired < 500, "renewals of leases alone were 2.6 million"
        for node in await client.list(core.Node):
            lease = await client.get(Lease, node.metadata.name, "kube-node-lease")
            assert lease.spec.renew_time is not None
            assert clock.now() - lease.spec.renew_time < HEARTBEAT
        assert seen == []


async def test_lease_is_fresh_at_every_moment_at_which_something_happens() -> None:
    clock, ages = VirtualClock(), list[timedelta]()

    async with Cluster(clock=clock, workloads=True) as cluster, cluster.client() as client:

        async def look() -> None:
            for hours in (1, 7, 100):
                await clock.sleep(hours * 3600.0)
                lease = await client.get(Lease, "node-1", "kube-node-lease")
                assert lease.spec.renew_time is not None
                ages.append(clock.now() - lease.spec.renew_time)

        await clock.run(look(), limit=10 * DAY)
    assert len(ages) == 3
    assert max(ages) < HEARTBEAT


async def test_watch_of_leases_sees_every_renewal() -> None:
    clock, renewals = VirtualClock(), list[str]()
    operator = kw.Operator("leases")

    @operator.reconciles(Lease)
    async def sync(lease: Lease, ctx: kw.Context[Lease]) -> None:
        renewals.append(str(lease.spec.renew_time))

    async with Cluster(clock=clock, workloads=True) as cluster, operator.running(cluster, clock=clock):
        await clock.advance(20)
        renewals.clear()
        await clock.advance(600)
    assert len(set(renewals)) == 60


async def test_events_expire_at_fractions_of_nanoseconds() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster, cluster.client(namespace="default") as client:
        await clock.advance(3571.056245141)
        about = core.ObjectReference(kind="ConfigMap", name="a", namespace="default", api_version="v1")
        await client.create(
            core.Event(metadata=meta.ObjectMeta(name="e"), involved_object=about, reason="Tested", message="m")
        )
        await clock.advance(3700)
        assert [event.metadata.name for event in await client.list(core.Event)] == []
