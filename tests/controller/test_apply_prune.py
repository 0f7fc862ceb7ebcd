"""`Applier.prune` on both clusters: what is deleted, and everything that is not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from kubewright.api import Object, core, meta
from kubewright.cache import ObjectKey, Snapshot, SnapshotDecoder
from kubewright.client import Client, MergePatch, NotFound
from kubewright.cluster import Cluster
from kubewright.controller import Applier
from kubewright.testing import RealCluster

pytestmark = pytest.mark.clusters

R = TypeVar("R", bound=Object)
MANAGER = "wright"


class OwnWrites:
    """A cache that knows what was written through it, and nothing of what others did since."""

    def __init__(self) -> None:
        self.snapshots: dict[tuple[type[Object], ObjectKey], Snapshot[Any]] = {}

    def covers(self, kind: type[Object], namespace: str) -> bool:
        return True

    def get(self, kind: type[R], key: ObjectKey) -> Snapshot[R] | None:
        return self.snapshots.get((kind, key))

    def controlled_by(self, kind: type[R], uid: str) -> Iterable[Snapshot[R]]:
        owned = [s for s in self.snapshots.values() if s.kind is kind and s.controller and s.controller.uid == uid]
        return iter(owned)

    def written(self, obj: Object) -> None:
        assert obj.metadata.origin is not None
        made = SnapshotDecoder(type(obj), field_manager=MANAGER).snapshot(obj.metadata.origin.raw)
        self.snapshots[made.kind, made.key] = made

    def removed(self, kind: type[Object], key: ObjectKey, uid: str) -> None:
        assert self.snapshots.pop((kind, key)).uid == uid


class Bench:
    def __init__(self, client: Client, owner: core.ConfigMap) -> None:
        self.client, self.owner, self.cache = client, owner, OwnWrites()
        self.applier = Applier(client, self.cache, field_manager=MANAGER)

    async def applied(self, name: str) -> core.ConfigMap:
        return (await self.applier.apply(self.owner, config_map(name))).object

    async def prune(self, *keep: Object, kinds: Iterable[type[Object]] = (core.ConfigMap,)) -> list[str]:
        return [key.name for _, key in await self.applier.prune(self.owner, kinds, keep)]

    async def names(self) -> set[str]:
        listed = await self.client.list(core.ConfigMap, self.client.namespace)
        return {obj.metadata.name for obj in listed if not obj.metadata.deletion_timestamp} - {"parent"}


@pytest_asyncio.fixture
async def bench(cluster: Cluster | RealCluster, namespace: str) -> AsyncIterator[Bench]:
    async with cluster.client(namespace=namespace, field_manager="others") as client:
        yield Bench(client, await client.create(config_map("parent")))


def config_map(name: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name), data={"a": "1"})


@pytest.mark.promise(
    "Owned objects and `apply`",
    "What was applied before and is no longer wanted is pruned when asked for, and nothing else.",
)
async def test_what_was_applied_before_and_is_not_kept_is_deleted(bench: Bench) -> None:
    await bench.applied("old")
    kept = await bench.applied("kept")
    assert await bench.prune(kept) == ["old"]
    assert await bench.names() == {"kept"}
    assert await bench.prune(kept) == []


async def test_an_object_can_be_kept_as_it_was_asked_for_without_a_namespace(bench: Bench) -> None:
    await bench.applied("kept")
    assert await bench.prune(config_map("kept")) == []


async def test_only_the_kinds_that_were_named_are_looked_at(bench: Bench) -> None:
    await bench.applied("child")
    assert await bench.prune(kinds=[core.Secret]) == []
    assert await bench.names() == {"child"}


async def test_what_another_owner_controls_stays(bench: Bench) -> None:
    rival = await bench.client.create(config_map("rival"))
    await bench.applier.apply(rival, config_map("theirs"))
    assert await bench.prune() == []
    assert await bench.names() == {"rival", "theirs"}


@pytest.mark.promise(
    "Owned objects and `apply`",
    "What was applied before and is no longer wanted is pruned when asked for, and nothing else.",
)
async def test_what_another_program_made_for_the_same_owner_stays(bench: Bench) -> None:
    theirs = config_map("theirs")
    theirs.metadata.owner_references = (await bench.applied("child")).metadata.owner_references
    bench.cache.written(await bench.client.create(theirs))
    assert await bench.prune() == ["child"]
    assert await bench.names() == {"theirs"}


async def test_an_object_that_others_touched_since_the_cache_looked_is_still_deleted(bench: Bench) -> None:
    await bench.applied("child")
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"data": {"theirs": "x"}}))
    assert await bench.prune() == ["child"]
    assert await bench.names() == set()


async def test_an_object_that_was_released_since_the_cache_looked_stays(bench: Bench) -> None:
    await bench.applied("child")
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"metadata": {"ownerReferences": None}}))
    assert await bench.prune() == []
    assert await bench.names() == {"child"}


async def test_keeps_an_object_that_another_client_recreated(bench: Bench) -> None:
    await bench.applied("child")
    await bench.client.delete(core.ConfigMap, "child")
    await bench.client.create(config_map("child"))
    assert await bench.prune() == []
    assert await bench.names() == {"child"}


async def test_an_object_that_is_gone_already_is_forgotten(bench: Bench) -> None:
    await bench.applied("child")
    await bench.client.delete(core.ConfigMap, "child")
    assert await bench.prune() == []
    assert not list(bench.cache.controlled_by(core.ConfigMap, bench.owner.metadata.uid))


async def test_an_object_in_deletion_is_not_deleted_twice(bench: Bench) -> None:
    asked = config_map("child")
    asked.metadata.finalizers = ["example.com/wait"]
    await bench.applier.apply(bench.owner, asked)
    assert await bench.prune() == ["child"]
    bench.cache.written(await bench.client.get(core.ConfigMap, "child"))
    assert await bench.prune() == []


async def test_recreates_a_pruned_object_that_is_wanted_again(bench: Bench) -> None:
    first = await bench.applied("child")
    await bench.prune()
    with pytest.raises(NotFound):
        await bench.client.get(core.ConfigMap, "child")
    assert (await bench.applied("child")).metadata.uid != first.metadata.uid


async def test_an_owner_that_was_never_created_cannot_prune(bench: Bench) -> None:
    with pytest.raises(ValueError, match="has no uid"):
        await bench.applier.prune(config_map("parent"), [core.ConfigMap], [])
