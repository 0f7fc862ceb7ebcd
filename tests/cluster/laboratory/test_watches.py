"""Watches that freeze, delay, drop or reorder events; stale reads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubewright.api import apps, core, meta
from kubewright.cache import Caches
from kubewright.client import ApiError, Client, Expired, MergePatch, NotFound
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.cluster.laboratory import Laboratory
from tests.cluster.laboratory.conftest import ONCE, Watching, config_map, reached
from tests.patience import PATIENCE


def secret(name: str) -> core.Secret:
    return core.Secret(metadata=meta.ObjectMeta(name=name, namespace="default"))


async def begun(client: Client) -> Watching:
    """Starts a watch of future ConfigMaps."""
    listed = await client.list(core.ConfigMap, "default")
    return Watching(client, resource_version=listed.resource_version)


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "A frozen watch loses no event and does not affect other watches.",
)
async def test_frozen_watch_resumes_without_loss(lab: Laboratory, client: Client) -> None:
    maps, secrets = await begun(client), Watching(client, core.Secret, resource_version=str(lab.revision))
    async with lab.frozen_watch(core.ConfigMap) as frozen:
        waiting = maps.begin()
        await client.create(config_map("a"))
        await client.patch(core.ConfigMap, "a", MergePatch({"data": {"k": "v"}}), "default")
        await client.create(secret("s"))
        assert await secrets.take() == [("ADDED", "s")]
        late = await begun(client)
        late_waiting = late.begin()
        await client.delete(core.ConfigMap, "a", "default")
        await reached(frozen, 4)  # three for the first watch, one for the second
        assert not waiting.done()
        assert not late_waiting.done()
    assert await maps.take(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert await late.take() == [("DELETED", "a")]
    for each in (maps, secrets, late):
        await each.close()


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Events are delayed, dropped, or reordered by the seed.",
)
async def test_delayed_events_keep_their_order() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, controllers=False) as cluster:
        client = cluster.client()
        watching = await begun(client)
        with cluster.lab.delayed_watch(core.ConfigMap, 5) as delayed:
            waiting = watching.begin()
            await clock.settled()
            for name in "abc":
                await client.create(config_map(name))
                await clock.advance(1)
            assert not waiting.done()
            await clock.advance(2)
            assert await watching.take() == [("ADDED", "a")]
            waiting = watching.begin()
            await clock.settled()
            assert not waiting.done()
            await clock.advance(1)
            assert await watching.take() == [("ADDED", "b")]
            assert delayed.hits == 3
        assert await watching.take() == [("ADDED", "c")], "the end brings what has not come yet"
        await watching.close()


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Events are delayed, dropped, or reordered by the seed.",
)
async def test_drops_events(lab: Laboratory, client: Client) -> None:
    watching = await begun(client)
    before = lab.revision
    with lab.dropped_watch("configmaps", nth=2, times=1) as dropped:
        watching.begin()
        await client.create(config_map("a"))
        assert await watching.take() == [("ADDED", "a")]
        await client.create(config_map("b"))
        await client.create(config_map("c"))
        assert await watching.take() == [("ADDED", "c")]
        assert dropped.hits == 1
    again = Watching(client, resource_version=str(before))
    assert await again.take(3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    await watching.close()
    await again.close()


async def test_drops_events_of_one_object(lab: Laboratory, client: Client) -> None:
    watching = await begun(client)
    with lab.dropped_watch(core.ConfigMap, name="b"):
        watching.begin()
        await client.create(config_map("b"))
        await client.create(config_map("a"))
        assert await watching.take() == [("ADDED", "a")]
    await watching.close()


async def reordered(seed: str) -> list[tuple[str, str]]:
    async with Cluster(seed=seed, controllers=False) as cluster:
        client = cluster.client()
        watching = await begun(client)
        with cluster.lab.reordered_watch(core.ConfigMap, window=8):
            watching.begin()
            for name in "abcde":
                await client.create(config_map(name))
            await client.patch(core.ConfigMap, "a", MergePatch({"data": {"k": "v"}}), "default")
            await client.delete(core.ConfigMap, "a", "default")
            await client.create(config_map("f"))
            first = await watching.take(8)
            await client.create(config_map("g"))
        last = await watching.take()
        await watching.close()
    assert last == [("ADDED", "g")]
    return first


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Events are delayed, dropped, or reordered by the seed.",
)
async def test_reorders_events_of_different_objects_by_seed() -> None:
    orders = [await reordered(seed) for seed in ("one", "two", "three")]
    assert orders == [await reordered(seed) for seed in ("one", "two", "three")]
    assert len({tuple(order) for order in orders}) > 1
    for order in orders:
        assert [type_ for type_, name in order if name == "a"] == ["ADDED", "MODIFIED", "DELETED"]
        assert {name for _, name in order} == set("abcdef")


async def test_client_reconnects_after_watch_ends(lab: Laboratory, client: Client) -> None:
    watching = await begun(client)
    waiting = watching.begin()
    async with asyncio.timeout(PATIENCE):
        while not lab.end_watches(core.ConfigMap):  # noqa: ASYNC110  # it may not have begun yet
            await asyncio.sleep(0)
    assert not waiting.done()
    await client.create(config_map("a"))
    assert await watching.take() == [("ADDED", "a")]
    await watching.close()


@pytest.mark.promise(
    "The laboratory of the embedded cluster", "Stale reads return the past while writes apply to the current state."
)
async def test_stale_reads_and_current_writes(lab: Laboratory, client: Client) -> None:
    made = await client.create(config_map("a", k="old"))
    await client.create(config_map("goes"))
    with lab.stale(core.ConfigMap) as stale:
        await client.patch(core.ConfigMap, "a", MergePatch({"data": {"k": "new"}}), "default")
        await client.delete(core.ConfigMap, "goes", "default")
        await client.create(config_map("comes"))
        assert (await client.get(core.ConfigMap, "a", "default", resource_version="0")).data == {"k": "old"}
        with pytest.raises(NotFound):
            await client.get(core.ConfigMap, "comes", "default", resource_version="0")
        listed = await client.list(core.ConfigMap, "default", resource_version="0")
        names = {obj.metadata.name for obj in listed} - {"kube-root-ca.crt"}
        assert names == {"a", "goes"}
        assert int(listed.resource_version) < lab.revision
        with pytest.raises(ApiError, match="the object has been modified"):
            made.data = {"k": "other"}
            await client.replace(made)
        watching = Watching(client, resource_version=listed.resource_version)
        waiting = watching.begin()
        await reached(stale, 3)
        assert not waiting.done()
    assert await watching.take(3) == [("MODIFIED", "a"), ("DELETED", "goes"), ("ADDED", "comes")]
    assert (await client.get(core.ConfigMap, "a", "default")).data == {"k": "new"}
    await watching.close()


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Gets and lists without a resourceVersion are consistent, also if the server's cache lags behind.",
)
async def test_reads_without_revision_are_consistent(lab: Laboratory, client: Client) -> None:
    await client.create(config_map("a", k="old"))
    with lab.stale(core.ConfigMap):
        await client.patch(core.ConfigMap, "a", MergePatch({"data": {"k": "new"}}), "default")
        await client.create(config_map("comes"))
        assert (await client.get(core.ConfigMap, "a", "default")).data == {"k": "new"}
        listed = await client.list(core.ConfigMap, "default")
        assert {obj.metadata.name for obj in listed} >= {"a", "comes"}
        assert int(listed.resource_version) == lab.revision


async def test_initial_events_wait_for_a_cache_that_lags() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        client = cluster.client(retry=ONCE)
        caches = Caches(client, clock=clock)
        with cluster.lab.stale(core.ConfigMap):
            await client.create(config_map("a"))
            informer = caches.informer(core.ConfigMap)
            async with caches:
                await clock.advance(10)
                assert not informer.synced
        assert informer.lister.get("a", "default") is None


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Disturbances of watches are limited to a user or client, and spare the cluster's own controllers.",
)
async def test_disturbs_the_watches_of_one_user_or_client(cluster: Cluster, lab: Laboratory) -> None:
    jane = cluster.client(user=User("jane", ("system:masters",)), user_agent="janes-tool/1")
    client = cluster.client()
    only: dict[str, Any] = {"fields": "metadata.name=a"}
    for scope in ({"user": "jane"}, {"client": "janes-tool"}):
        hers, ours = Watching(jane, **only), Watching(client, **only)
        waiting, other = hers.begin(), ours.begin()
        await cluster.settled()
        with lab.frozen_watch(core.ConfigMap, **scope) as frozen:
            await client.create(config_map("a"))
            await reached(frozen, 1)
            assert await ours.take() == [("ADDED", "a")]
            assert other.done()
            assert not waiting.done()
        assert await hers.take() == [("ADDED", "a")]
        assert lab.end_watches(core.ConfigMap, **scope) == 1
        await hers.close()
        await ours.close()
        await client.delete(core.ConfigMap, "a", "default")


async def test_own_controllers_are_disturbed_only_by_name() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1, workloads=True) as cluster:
        client, lab = cluster.client(), cluster.lab

        async def pods_of(name: str) -> int:
            labels = {"app": name}
            template = core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels),
                spec=core.PodSpec(containers=[core.Container(name="web", image="web")]),
            )
            spec = apps.DeploymentSpec(selector=meta.LabelSelector(match_labels=labels), template=template)
            place = meta.ObjectMeta(name=name, namespace="default")
            await client.create(apps.Deployment(metadata=place, spec=spec))
            await cluster.settled()
            return len(await client.list(core.Pod, "default", labels=f"app={name}"))

        with lab.frozen_watch(apps.Deployment):
            assert await pods_of("spared") == 1
        with lab.frozen_watch(apps.Deployment, user="system:kube-controller-manager"):
            assert await pods_of("disturbed") == 0


async def test_new_watch_starts_stale_and_catches_up(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    await client.create(config_map("a"))
    with lab.stale(core.ConfigMap, revision=lab.revision):
        await client.create(config_map("b"))
        watching = Watching(client, fields="metadata.name!=kube-root-ca.crt")
        assert await watching.take() == [("ADDED", "a")]
        waiting = watching.begin()
        await cluster.settled()
        assert not waiting.done()
    assert await watching.take() == [("ADDED", "b")]
    await watching.close()


@pytest.mark.promise(
    "The laboratory of the embedded cluster", "Stale reads return the past while writes apply to the current state."
)
async def test_stale_server_times_out_on_newer_revision() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster:
        client = cluster.client()
        with cluster.lab.stale(core.ConfigMap):
            made = await client.create(config_map("a"))
            asked = client.list(
                core.ConfigMap,
                "default",
                resource_version=made.metadata.resource_version,
                resource_version_match="NotOlderThan",
            )
            with pytest.raises(ApiError, match="Too large resource version"):
                await clock.run(asked)


async def test_compacts_history_immediately(lab: Laboratory, client: Client) -> None:
    before = lab.revision
    await client.create(config_map("a"))
    assert lab.compact() == lab.revision
    watching = Watching(client, resource_version=str(before))
    with pytest.raises(Expired, match="too old resource version"):
        await watching.take()
    await watching.close()
