"""`apply` with an optimistic lock, on both clusters: newer state is not overwritten."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubewright.api import core
from kubewright.client import Client, Conflict, MergePatch
from kubewright.cluster import Cluster
from kubewright.controller import Applier, Outdated
from kubewright.testing import RealCluster
from tests.controller.apply_bench import MANAGER, Bench, config_map, open_bench

pytestmark = pytest.mark.clusters


@pytest_asyncio.fixture
async def bench(cluster: Cluster | RealCluster, namespace: str) -> AsyncIterator[Bench]:
    async with open_bench(cluster, namespace) as opened:
        await opened.applier.apply(opened.owner, config_map(a="1"))
        await opened.applier.apply(opened.owner, config_map(a="2"))  # applied, and not only created
        opened.requests.clear()
        yield opened


async def newer(client: Client) -> None:
    """Another process changes the object. The cache of the bench does not see it."""
    await client.patch(core.ConfigMap, "child", MergePatch({"data": {"a": "newer"}}))


async def test_applies_to_the_version_that_was_read(bench: Bench) -> None:
    applied = await bench.applier.apply(bench.owner, config_map(a="3"), optimistic_lock=True)
    assert (applied.written, applied.object.data) == (True, {"a": "3"})
    assert bench.sent() == ["patch configmaps"]


async def test_does_not_overwrite_newer_state(bench: Bench) -> None:
    await newer(bench.client)
    with pytest.raises(Outdated, match="reconcile again"):
        await bench.applier.apply(bench.owner, config_map(a="3"), optimistic_lock=True)
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "newer"}


async def test_overwrites_newer_state_without_the_lock(bench: Bench) -> None:
    await newer(bench.client)
    await bench.applier.apply(bench.owner, config_map(a="3"))
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "3"}


async def test_succeeds_when_the_cache_has_caught_up(bench: Bench) -> None:
    await newer(bench.client)
    with pytest.raises(Outdated):
        await bench.applier.apply(bench.owner, config_map(a="3"), optimistic_lock=True)
    await bench.look(core.ConfigMap, "child")
    applied = await bench.applier.apply(bench.owner, config_map(a="3"), optimistic_lock=True)
    assert applied.object.data == {"a": "3"}


async def test_does_not_apply_to_an_object_that_the_cache_does_not_know(bench: Bench) -> None:
    empty = Bench(bench.client, bench.namespace, [])
    applier = Applier(bench.client, empty.mirror, field_manager=MANAGER)
    with pytest.raises(Outdated, match="exists, and is newer than the cache; reconcile again"):
        await applier.apply(bench.owner, config_map(a="3"), optimistic_lock=True)
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "2"}


async def test_does_not_stop_a_delayed_create(bench: Bench) -> None:
    """The documented limit: an object that is not there has no version to lock."""
    await bench.client.delete(core.ConfigMap, "child")
    await bench.look(core.ConfigMap, "child")
    applied = await bench.applier.apply(bench.owner, config_map(a="3"), optimistic_lock=True)
    assert applied.written


async def test_client_apply_with_a_resource_version_conflicts_with_newer_state(bench: Bench) -> None:
    read = await bench.live(core.ConfigMap, "child")
    await newer(bench.client)
    asked = config_map(namespace=bench.namespace, a="3")
    asked.metadata.resource_version = read.metadata.resource_version
    with pytest.raises(Conflict):
        await bench.client.apply(asked, field_manager=MANAGER, force=True)
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "newer"}
