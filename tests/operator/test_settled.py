"""`running.settled()`: nothing is left to do at this moment, whatever the clock and the way to the cluster."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock, VirtualClock
from kubewright.cluster import Cluster
from tests.patience import until

LABELS = {"copied": "yes"}


def source(name: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default", labels=LABELS), data={"a": "1"})


def copier(*, plain: bool, target: str = "copy", labels: dict[str, str] | None = None) -> kw.Operator:
    """Makes a Secret of each ConfigMap, and validates Secrets in a plain webhook, over TLS."""
    operator = kw.Operator(f"{target}-operator")

    def secret(of: core.ConfigMap) -> core.Secret:
        place = meta.ObjectMeta(name=f"{of.metadata.name}-{target}", labels={"copied": target})
        return core.Secret(metadata=place, string_data=of.data)

    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        if ctx.get(core.Secret, f"{obj.metadata.name}-{target}") is None:
            await ctx.create(secret(obj))

    def plain_sync(obj: core.ConfigMap, ctx: kw.BlockingContext[core.ConfigMap]) -> None:
        if ctx.get(core.Secret, f"{obj.metadata.name}-{target}") is None:
            ctx.create(secret(obj))

    register = operator.reconciles(core.ConfigMap, labels=labels or LABELS, owns=[core.Secret])
    if plain:
        register(plain_sync)
    else:
        register(sync)

    @operator.validates(core.Secret)
    def check(obj: core.Secret) -> None: ...

    return operator


@pytest.fixture(params=[SystemClock, VirtualClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


@pytest.fixture
async def cluster(clock: Clock) -> AsyncIterator[Cluster]:
    async with Cluster(clock=clock) as cluster:
        yield cluster


async def secrets(client: Client) -> list[str]:
    return sorted(secret.metadata.name for secret in await client.list(core.Secret, "default"))


@pytest.mark.parametrize("plain", [False, True])
async def test_settled_waits_for_reconciles_and_their_webhooks(cluster: Cluster, clock: Clock, plain: bool) -> None:
    client = cluster.client()
    async with copier(plain=plain).running(cluster, clock=clock) as running:
        for number in range(20):
            await client.create(source(f"c{number}"))
        await running.settled()
        assert len(await secrets(client)) == 20
        await client.delete(core.ConfigMap, "c7", "default")
        await running.settled()
        assert "c7-copy" not in await secrets(client), "the cluster has collected it"


@pytest.mark.parametrize("plain", [False, True])
async def test_settled_waits_for_caches_over_https(cluster: Cluster, clock: Clock, plain: bool) -> None:
    await cluster.serve()
    client = cluster.client()
    async with copier(plain=plain).running(kubeconfig=str(cluster.kubeconfig()), clock=clock) as running:
        for number in range(10):
            await client.create(source(f"c{number}"))
            await running.settled()
            assert f"c{number}-copy" in await secrets(client)


async def test_settled_covers_operators_that_wake_each_other(cluster: Cluster, clock: Clock) -> None:
    client = cluster.client()
    first = copier(plain=True)

    second = kw.Operator("second")

    @second.reconciles(core.Secret, labels={"copied": "copy"}, owns=[core.ServiceAccount])
    async def sync(obj: core.Secret, ctx: kw.Context[core.Secret]) -> None:
        await ctx.apply(core.ServiceAccount(metadata=meta.ObjectMeta(name=obj.metadata.name)))

    async with first.running(cluster, clock=clock) as one, second.running(cluster, clock=clock) as two:
        await client.create(source("a"))
        await one.settled()
        await two.settled()
        assert (await client.get(core.ServiceAccount, "a-copy", "default")).metadata.name == "a-copy"


async def test_settled_does_not_wait_for_delayed_keys() -> None:
    clock, operator, times = VirtualClock(), kw.Operator("later"), list[float]()

    @operator.reconciles(core.ConfigMap, labels=LABELS)
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> kw.Result:
        times.append(clock.monotonic())
        return kw.Result(requeue_after=60)

    async with Cluster(clock=clock) as cluster, operator.running(cluster, clock=clock) as running:
        await cluster.client().create(source("a"))
        await running.settled()
        assert (times, clock.monotonic()) == ([0], 0)


async def test_settled_names_what_is_left() -> None:
    clock, operator = SystemClock(), kw.Operator("slow")
    began, release = threading.Event(), threading.Event()

    @operator.reconciles(core.ConfigMap, labels=LABELS)
    def sync(obj: core.ConfigMap, ctx: kw.BlockingContext[core.ConfigMap]) -> None:
        began.set()
        release.wait()

    async with Cluster(clock=clock) as cluster, operator.running(cluster, clock=clock) as running:
        await cluster.client().create(source("a"))
        try:
            await until(began.is_set)
            with pytest.raises(TimeoutError, match=r"operator slow is not settled after 0\.2 real seconds: configmap"):
                await running.settled(timeout=0.2)
        finally:
            release.set()


async def test_settled_needs_a_run() -> None:
    with pytest.raises(RuntimeError, match="the operator is not running"):
        await copier(plain=False).running(Cluster()).settled()


async def test_plain_reconcile_is_not_timed_in_virtual_seconds() -> None:
    """Timers of others that fire every virtual second do not let it time out, nor do retries of its client."""
    clock, operator, endings = VirtualClock(), kw.Operator("plain"), list[float]()

    @operator.reconciles(core.ConfigMap, labels=LABELS, timeout=30)
    def sync(obj: core.ConfigMap, ctx: kw.BlockingContext[core.ConfigMap]) -> None:
        if not endings:
            threading.Event().wait(0.02)  # a call of something else
        ctx.create(core.Secret(metadata=meta.ObjectMeta(name="made"), string_data={"a": "1"}))
        endings.append(clock.monotonic())

    def tick() -> None:
        clock.call_later(1, tick)

    async with Cluster(clock=clock) as cluster, operator.running(cluster, clock=clock) as running:
        cluster.lab.fail(verb="create", kind=core.Secret, status=429, retry_after=5)
        tick()
        await cluster.client().create(source("a"))
        await clock.advance(3600)
        assert running.controllers[0].stats.timeouts == 0
        assert endings == [5], "it waited for the retry in virtual time, and for nothing else"
