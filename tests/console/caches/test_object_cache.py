"""Object caches: shared watches, batches, closing when idle, and outages of the API server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, apiextensions, core
from kubewright.cache import CacheSyncError
from kubewright.client import Client, Request, load_config
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import Batch, Console, Kind, ObjectCache
from kubewright.crd import install
from kubewright.testing import ControlPlane
from tests.patience import PATIENCE


class ShelvedSpec(kw.Model):
    size: int = 0


@kw.resource("caches.example.com/v1", columns={"Size": ".spec.size"})
class Shelved(kw.Resource[ShelvedSpec, None]):
    """A cached object."""


class Requests:
    """Counts the requests of the console's own identity."""

    def __init__(self) -> None:
        self.count: Counter[tuple[str, str]] = Counter()

    def hook(self, request: Request) -> None:
        self.count[request.verb, request.resource] += 1

    def watches(self, resource: str) -> int:
        return self.count["watch", resource] + self.count["list", resource]


@pytest.fixture
def requests() -> Requests:
    return Requests()


@pytest.fixture
async def console(cluster: Cluster, requests: Requests) -> AsyncIterator[Console]:
    async with Console(cluster.client(hooks=[requests.hook])) as made:
        yield made


async def kind_of(console: Console, path: str) -> Kind:
    kind = await console.kind(path)
    assert kind is not None
    return kind


async def until(cache: ObjectCache, condition: Callable[[], bool]) -> None:
    """Waits until a cache reaches a state."""
    changed = asyncio.Event()
    with cache.subscribe(lambda _: changed.set()):
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await changed.wait()
                changed.clear()


def config_map(name: str, **data: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


def _note(heard: list[int], number: int, _: Batch) -> None:
    heard.append(number)


@pytest.mark.promise(
    "Access to the console and its cost",
    "A hundred open pages cost the API server one watch per kind.",
)
async def test_hundred_viewers_share_one_watch(cluster: Cluster, console: Console, requests: Requests) -> None:
    kind, client = await kind_of(console, "core/configmaps"), cluster.client()
    caches = await asyncio.gather(*(console.cache(kind) for _ in range(100)))
    assert len({id(cache) for cache in caches}) == 1
    heard: list[int] = []
    subscriptions = [caches[0].subscribe(partial(_note, heard, number)) for number in range(100)]
    await client.create(config_map("news"))
    await until(caches[0], lambda: len(set(heard)) == 100)
    for _ in range(100):
        await caches[0].rows(console.viewer())
    assert requests.watches("configmaps") == 1
    for subscription in subscriptions:
        subscription.close()
    assert caches[0].users == 0


async def test_follows_definitions_and_columns(cluster: Cluster, console: Console) -> None:
    assert await console.kind("caches.example.com/shelveds") is None
    await install(cluster.client(), Shelved)
    definitions = await kind_of(console, "apiextensions.k8s.io/customresourcedefinitions")
    async with console.cache(definitions) as cache:
        await until(cache, lambda: len(cache) == 1)
        while (kind := await console.kind("caches.example.com/shelveds")) is None:
            await until(cache, lambda: True)
    assert (kind.kind, kind.custom, kind.namespaced) == ("Shelved", True, True)
    assert [column.name for column in kind.columns] == ["Size"]
    assert kind.schema is not None
    assert "spec" in kind.schema["properties"]
    await cluster.client().create(
        Shelved(metadata=ObjectMeta(name="a", namespace="default", labels={"x": "y"}), spec=ShelvedSpec(size=3))
    )
    async with console.cache(kind) as cache:
        await until(cache, lambda: len(cache) == 1)
        [row] = await cache.rows(console.viewer())
    assert {name: row[name] for name in ("id", "namespace", "name", "labels", "c0")} == {
        "id": "default/a",
        "namespace": "default",
        "name": "a",
        "labels": "x=y",
        "c0": 3,
    }


async def test_changed_columns_change_the_rows(cluster: Cluster, console: Console) -> None:
    client = cluster.client()
    await install(client, Shelved)
    await client.create(Shelved(metadata=ObjectMeta(name="a", namespace="default"), spec=ShelvedSpec(size=3)))
    before = await kind_of(console, "caches.example.com/shelveds")
    async with console.cache(before) as cache:
        assert [row["c0"] for row in await cache.rows(console.viewer())] == [3]
        crd = await client.get(apiextensions.CustomResourceDefinition, "shelveds.caches.example.com")
        crd.spec.versions[0].additional_printer_columns = [
            apiextensions.CustomResourceColumnDefinition(name="Who", type="string", json_path=".metadata.name")
        ]
        await client.update(crd)
        definitions = await console.cache(await kind_of(console, "apiextensions.k8s.io/customresourcedefinitions"))
        name = "shelveds.caches.example.com"
        await until(definitions, lambda: b"Who" in (definitions.get("", name) or b""))
        after = await kind_of(console, "caches.example.com/shelveds")
        assert [column.name for column in after.columns] == ["Who"]
        async with console.cache(after) as again, console.cache(before) as still:
            assert again is cache
            assert still is cache
            assert [row["c0"] for row in await cache.rows(console.viewer())] == ["a"]


async def test_shows_only_configured_kinds(cluster: Cluster) -> None:
    async with Console(cluster.client(), only=["core/pods", "apps/*"]) as console:
        paths = {kind.path for kind in await console.kinds()}
    events = {"core/events", "events.k8s.io/events"}
    assert paths == {"core/pods"} | events | {path for path in paths if path.startswith("apps/")}
    assert "apps/deployments" in paths


@pytest.mark.promise(
    "Access to the console and its cost",
    "Changes are delivered in batches, and a failing page does not affect others.",
)
async def test_delivers_changes_in_batches_of_a_quarter_second(cluster: Cluster) -> None:
    clock = VirtualClock()
    batches: list[Batch] = []
    async with Console(cluster.client(), clock=clock) as console:
        cache = await clock.run(_opened(console, "core/configmaps"))
        subscription = cache.subscribe(batches.append)
        await clock.advance(1)
        batches.clear()
        client = cluster.client()
        for number in range(20):
            await client.create(config_map(f"many-{number}"))
        await client.delete(core.ConfigMap, "many-0", "default")
        await clock.advance(0.25)
        await clock.advance(0.25)
        await clock.advance(0.25)
        assert 1 <= len(batches) <= 3
        seen: set[Any] = set().union(*(batch.changed for batch in batches))
        assert {("default", f"many-{number}") for number in range(1, 20)} <= seen
        assert any(("default", "many-0") in batch.gone for batch in batches) or ("default", "many-0") not in seen
        subscription.close()


async def _opened(console: Console, path: str) -> ObjectCache:
    return await console.cache(await kind_of(console, path))


@pytest.mark.promise(
    "Access to the console and its cost",
    "An idle cache is closed, and reopened on use.",
)
async def test_closes_idle_cache_after_a_minute_and_reopens_it(cluster: Cluster) -> None:
    clock = VirtualClock()
    async with Console(cluster.client(), clock=clock) as console:
        cache = await clock.run(_opened(console, "core/configmaps"))
        with cache.subscribe(lambda _: None):
            await clock.advance(300)
            assert cache in console.open_caches
        await clock.advance(59)
        assert cache in console.open_caches
        await clock.advance(2)
        assert cache not in console.open_caches
        again = await clock.run(_opened(console, "core/configmaps"))
        assert again is not cache
        assert again.synced


@pytest.mark.promise(
    "Access to the console and its cost",
    "Changes are delivered in batches, and a failing page does not affect others.",
)
async def test_failing_subscriber_does_not_affect_others(
    cluster: Cluster, console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    cache = await _opened(console, "core/configmaps")

    def fails(batch: Batch) -> None:
        raise ValueError("a page")

    async def fails_later(batch: Batch) -> None:
        raise ValueError("another page")

    heard: list[Batch] = []
    with cache.subscribe(fails), cache.subscribe(fails_later), cache.subscribe(heard.append):
        await cluster.client().create(config_map("one"))
        await until(cache, lambda: len(heard) == 1)
        await cluster.client().create(config_map("two"))
        await until(cache, lambda: len(heard) == 2)
    assert caplog.text.count("cannot update a page with changes of ConfigMap") >= 3


@pytest.mark.promise(
    "Access to the console and its cost",
    "Caches survive an outage of the API server with the last known objects, and without a burst of requests.",
)
async def test_survives_api_server_outage(cluster: Cluster) -> None:
    clock, client = VirtualClock(), cluster.client()
    async with Console(cluster.client(clock=clock), clock=clock) as console:
        cache = await clock.run(_opened(console, "core/configmaps"))

        async def comes(condition: Callable[[], bool]) -> None:
            for _ in range(1_000):
                if condition():
                    return
                await clock.advance(0.5)
            pytest.fail(f"it never came: {cache.health}")

        await client.create(config_map("before"))
        await comes(lambda: cache.get("default", "before") is not None)
        assert cache.health.live
        faults = [
            cluster.lab.fail(verb=verb, kind="configmaps", status="lost", times=None) for verb in ("watch", "list")
        ]
        seen: list[Batch] = []
        with cache.subscribe(seen.append):
            cluster.lab.end_watches("configmaps")
            await comes(lambda: cache.health.state == "unavailable" and any(batch.health for batch in seen))
        assert cache.health.message
        assert cache.get("default", "before") is not None  # the last known objects are still shown
        since = cache.health.since
        await clock.advance(5)
        assert cache.health.since == since
        await client.create(config_map("during-outage"))
        for fault in faults:
            fault.end()
        await comes(lambda: cache.health.live and cache.get("default", "during-outage") is not None)


async def test_reports_why_sync_fails(cluster: Cluster) -> None:
    clock = VirtualClock()
    async with Console(cluster.client(), clock=clock) as console:
        kind = await clock.run(kind_of(console, "core/configmaps"))
        cluster.lab.fail(verb="watch", kind="configmaps", status=503, times=None)
        cluster.lab.fail(verb="list", kind="configmaps", status=503, times=None)
        with pytest.raises(CacheSyncError, match="ConfigMap"):
            await clock.run(_await(console, kind))


async def _await(console: Console, kind: Kind) -> ObjectCache:
    return await console.cache(kind)


@pytest.mark.promise(
    "Access to the console and its cost",
    "Caches survive an outage of the API server with the last known objects, and without a burst of requests.",
)
@pytest.mark.control_plane
async def test_survives_restart_of_real_api_server(requests: Requests) -> None:
    with ControlPlane() as plane:
        client = Client(load_config(kubeconfig=plane.kubeconfig), hooks=[requests.hook])
        async with Console(client) as console, Client(load_config(kubeconfig=plane.kubeconfig)) as other:
            cache = await _opened(console, "core/configmaps")
            await other.create(config_map("before"))
            await until(cache, lambda: cache.get("default", "before") is not None)
            await asyncio.to_thread(plane.kill_apiserver)
            await until(cache, lambda: cache.health.state == "unavailable")
            assert cache.get("default", "before") is not None
            before = sum(requests.count.values())
            await asyncio.to_thread(plane.start_apiserver)
            await other.create(config_map("after"))
            await until(cache, lambda: cache.health.live and cache.get("default", "after") is not None)
            # A few retries per open watch with increasing delays, and no burst.
            assert sum(requests.count.values()) - before < 100
