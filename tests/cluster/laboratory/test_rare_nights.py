"""Rare faults: an operator loses no object to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.operator import Running
from tests.cluster.laboratory.test_operator import quiet


class KeySpec(kw.Model):
    size: int = 0


class KeyStatus(kw.Model):
    conditions: list[meta.Condition] | None = None


@kw.resource("night.example.com/v1")
class Lock(kw.Resource[KeySpec, KeyStatus]):
    """The kind that the operator reconciles."""


@kw.resource("night.example.com/v1")
class Bolt(kw.Resource[KeySpec, None]):
    """The kind that a lock owns."""


def lock(size: int = 1, *finalizers: str) -> Lock:
    place = meta.ObjectMeta(name="one", namespace="default", finalizers=list(finalizers))
    return Lock(metadata=place, spec=KeySpec(size=size))


class Night:
    """A cluster and an operator that runs on it."""

    def __init__(self, cluster: Cluster, clock: VirtualClock, running: Running) -> None:
        self.client = cluster.client()
        self.lab = cluster.lab
        self._clock = clock
        self._running = running

    async def passes(self) -> None:
        """Waits until no work is pending."""
        await self._clock.run(quiet(self._clock, self._running))

    async def resize(self, size: int) -> None:
        found = await self.client.get(Lock, "one", "default")
        found.spec.size = size
        await self.client.update(found)

    def cached(self, kind: type[Any], name: str, namespace: str = "") -> Any:
        assert self._running.caches is not None
        return next(each for each in self._running.caches.informers if each.kind is kind).lister.get(name, namespace)


@asynccontextmanager
async def night(operator: kw.Operator) -> AsyncIterator[Night]:
    clock = VirtualClock()
    cluster = Cluster(clock=clock, seed="night")
    async with cluster, operator.running(cluster, clock=clock) as running:
        yield Night(cluster, clock, running)


@pytest.fixture
def operator() -> kw.Operator:
    return kw.Operator("watchman")


async def exists(client: Client, kind: type[Any], name: str) -> bool:
    return any(each.metadata.name == name for each in await client.list(kind, "default"))


def record(operator: kw.Operator) -> list[str]:
    """Makes the operator reconcile and finalize locks, and records it."""
    seen: list[str] = []

    @operator.reconciles(Lock, when=kw.generation_changed)
    async def sync(obj: Lock, ctx: kw.Context[Lock]) -> None:
        seen.append(f"reconciled {obj.spec.size}")

    @operator.finalizes(Lock)
    async def finalize(obj: Lock, ctx: kw.Context[Lock]) -> None:
        seen.append("cleaned up")

    return seen


@pytest.mark.promise("What a reconciler works with", "A 404 alone is not treated as the deletion of an object.")
async def test_404_while_adding_a_finalizer_is_not_a_deletion(operator: kw.Operator) -> None:
    seen = record(operator)
    async with night(operator) as here:
        here.lab.fail(verb="patch", kind=Lock, status=404)  # like a server that does not know the definition yet
        await here.client.create(lock())
        await here.passes()
        made = await here.client.get(Lock, "one", "default")
    assert seen == ["reconciled 1"]
    assert made.metadata.finalizers == ["night.example.com/watchman"]


@pytest.mark.promise("What a reconciler works with", "A 404 alone is not treated as the deletion of an object.")
async def test_404_while_removing_a_finalizer_is_not_a_deletion(operator: kw.Operator) -> None:
    seen = record(operator)
    async with night(operator) as here:
        await here.client.create(lock())
        await here.passes()
        here.lab.fail(verb="patch", kind=Lock, status=404)
        await here.client.delete(Lock, "one", "default")
        await here.passes()
        assert not await exists(here.client, Lock, "one")
    assert seen == ["reconciled 1", "cleaned up"]


@pytest.mark.promise("Our own writes", "A deleted object that a backup restores is seen again.")
async def test_sees_deleted_object_restored_from_backup(operator: kw.Operator) -> None:
    seen: list[int] = []

    @operator.reconciles(Lock)
    async def sync(obj: Lock, ctx: kw.Context[Lock]) -> None:
        seen.append(obj.spec.size)
        if obj.spec.size == 2:
            await ctx.delete(obj)

    async with night(operator) as here:
        await here.client.create(lock())
        await here.passes()
        backup = here.lab.snapshot()
        async with here.lab.dropped_watch(Lock, nth=2):  # the server stops before it sends the deletion
            await here.resize(2)
            await here.passes()
            here.lab.rewind(backup)
        await here.passes()
        found = here.cached(Lock, "one", "default")
    assert found is not None
    assert found.spec.size == 1
    assert seen == [1, 2, 1]


@pytest.mark.promise("What a reconciler works with", "A 404 alone is not treated as the deletion of an object.")
async def test_failed_prune_is_retried(operator: kw.Operator) -> None:
    @operator.reconciles(Lock, owns=[Bolt])
    async def sync(obj: Lock, ctx: kw.Context[Lock]) -> None:
        bolt = Bolt(metadata=meta.ObjectMeta(name="bolt"), spec=KeySpec(size=1))
        keep = [await ctx.apply(bolt)] if obj.spec.size == 1 else []
        await ctx.prune([Bolt], keep=keep)

    async with night(operator) as here:
        await here.client.create(lock())
        await here.passes()
        here.lab.fail(verb="delete", kind=Bolt, status=404)
        await here.resize(2)
        await here.passes()
        assert here.cached(Bolt, "bolt", "default") is not None
        await here.resize(3)
        await here.passes()
        assert not await exists(here.client, Bolt, "bolt")


@pytest.mark.promise("What a reconciler works with", "An object restored from a backup is finalized again.")
async def test_finalizes_object_restored_from_backup(operator: kw.Operator) -> None:
    seen = record(operator)
    async with night(operator) as here:
        await here.client.create(lock(1, "other.example.com/hold"))
        await here.passes()
        backup = here.lab.snapshot()
        await here.client.delete(Lock, "one", "default")
        await here.passes()
        here.lab.rewind(backup)
        await here.passes()
        await here.resize(5)
        await here.passes()
        await here.client.delete(Lock, "one", "default")
        await here.passes()
    assert seen.count("cleaned up") == 2
    assert seen[-1] == "cleaned up"


@pytest.mark.promise(
    "What a reconciler works with",
    "Conditions set before a terminal error are written, even if the first write fails.",
)
async def test_writes_conditions_of_a_terminal_error_after_failed_write(
    operator: kw.Operator,
) -> None:
    @operator.reconciles(Lock)
    async def sync(obj: Lock, ctx: kw.Context[Lock]) -> None:
        ctx.set_condition("Ready", False, "TooSmall", "the size must not be 1")
        raise kw.TerminalError("the size must not be 1")

    async with night(operator) as here:
        here.lab.fail(verb="patch", kind=Lock, subresource="status", status=500, times=8)
        await here.client.create(lock())
        await here.passes()
        found = await here.client.get(Lock, "one", "default")
    assert [(each.type, each.reason) for each in found.status.conditions or ()] == [("Ready", "TooSmall")]


@pytest.mark.promise("Our own writes", "A Namespace exists while its spec has finalizers.")
async def test_namespace_exists_until_it_is_empty(operator: kw.Operator) -> None:
    @operator.reconciles(core.Namespace)
    async def sync(obj: core.Namespace, ctx: kw.Context[core.Namespace]) -> None: ...

    @operator.finalizes(core.Namespace, name="night.example.com/watchman")
    async def clean(obj: core.Namespace, ctx: kw.Context[core.Namespace]) -> None: ...

    async with night(operator) as here:
        await here.client.create(core.Namespace(metadata=meta.ObjectMeta(name="team")))
        await here.passes()
        held = meta.ObjectMeta(name="held", namespace="team", finalizers=["other.example.com/hold"])
        await here.client.create(core.ConfigMap(metadata=held))
        kept = await here.client.delete(core.Namespace, "team")
        await here.passes()
        found = here.cached(core.Namespace, "team")
    assert kept is not None
    assert found is not None
    assert found.metadata.finalizers == []
    assert found.spec is not None
    assert found.spec.finalizers == ["kubernetes"]


@pytest.mark.promise("Our own writes", "A Namespace exists while its spec has finalizers.")
async def test_namespace_deletion_reports_remaining_namespace() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="team")))
        held = meta.ObjectMeta(name="held", namespace="team", finalizers=["other.example.com/hold"])
        await client.create(core.ConfigMap(metadata=held))
        kept = await client.delete(core.Namespace, "team")
        assert isinstance(kept, core.Namespace)
        assert kept.metadata.deletion_timestamp is not None
