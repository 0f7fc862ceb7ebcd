"""Caches: one watch for everybody, batches, idle ones closed, and an API server that goes away and comes back."""

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
    """Something on a cache."""


class Requests:
    """What the console's own identity asks of the server."""

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
    """Wait for what a cache tells of."""
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
    "Who comes into the console, and what it costs",
    "A hundred open pages cost the API server one watch per kind.",
)
async def test_a_hundred_who_look_cost_the_server_one_watch(
    cluster: Cluster, console: Console, requests: Requests
) -> None:
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


async def test_definitions_and_their_columns_are_followed(cluster: Cluster, console: Console) -> None:
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


async def test_a_definition_with_other_columns_changes_the_rows(cluster: Cluster, console: Console) -> None:
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


async def test_only_the_kinds_that_are_asked_for_are_shown(cluster: Cluster) -> None:
    async with Console(cluster.client(), only=["core/pods", "apps/*"]) as console:
        paths = {kind.path for kind in await console.kinds()}
    events = {"core/events", "events.k8s.io/events"}
    assert paths == {"core/pods"} | events | {path for path in paths if path.startswith("apps/")}
    assert "apps/deployments" in paths


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "Changes come in batches, and what a page does wrong hurts no other.",
)
async def test_changes_come_in_batches_of_a_quarter_second(cluster: Cluster) -> None:
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
        told: set[Any] = set().union(*(batch.changed for batch in batches))
        assert {("default", f"many-{number}") for number in range(1, 20)} <= told
        assert any(("default", "many-0") in batch.gone for batch in batches) or ("default", "many-0") not in told
        subscription.close()


async def _opened(console: Console, path: str) -> ObjectCache:
    return await console.cache(await kind_of(console, path))


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "A cache that nobody looks at is closed, and opened again.",
)
async def test_a_cache_that_nobody_needs_is_closed_after_a_minute_and_opened_again(cluster: Cluster) -> None:
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
    "Who comes into the console, and what it costs",
    "Changes come in batches, and what a page does wrong hurts no other.",
)
async def test_what_a_page_does_wrong_with_a_batch_hurts_no_other(
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
    assert caplog.text.count("a page failed to follow ConfigMap") >= 3


@pytest.mark.promise(
    "Who comes into the console, and what it costs",
    "The API server may go away and come back: what was known is shown, no storm follows.",
)
async def test_the_api_server_goes_away_and_comes_back(cluster: Cluster) -> None:
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
        told: list[Batch] = []
        with cache.subscribe(told.append):
            cluster.lab.end_watches("configmaps")
            await comes(lambda: cache.health.state == "away" and any(batch.health for batch in told))
        assert cache.health.message
        assert cache.get("default", "before") is not None  # what was known is still shown
        since = cache.health.since
        await clock.advance(5)
        assert cache.health.since == since
        await client.create(config_map("meanwhile"))
        for fault in faults:
            fault.end()
        await comes(lambda: cache.health.live and cache.get("default", "meanwhile") is not None)


async def test_a_cache_that_does_not_fill_says_why(cluster: Cluster) -> None:
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
    "Who comes into the console, and what it costs",
    "The API server may go away and come back: what was known is shown, no storm follows.",
)
async def test_a_real_api_server_that_is_stopped_and_started(requests: Requests) -> None:
    with ControlPlane() as plane:
        client = Client(load_config(kubeconfig=plane.kubeconfig), hooks=[requests.hook])
        async with Console(client) as console, Client(load_config(kubeconfig=plane.kubeconfig)) as other:
            cache = await _opened(console, "core/configmaps")
            await other.create(config_map("before"))
            await until(cache, lambda: cache.get("default", "before") is not None)
            await asyncio.to_thread(plane.kill_apiserver)
            await until(cache, lambda: cache.health.state == "away")
            assert cache.get("default", "before") is not None
            before = sum(requests.count.values())
            await asyncio.to_thread(plane.start_apiserver)
            await other.create(config_map("after"))
            await until(cache, lambda: cache.health.live and cache.get("default", "after") is not None)
            # No storm: some tries of the few watches that are open, further and further apart.
            assert sum(requests.count.values()) - before < 100
