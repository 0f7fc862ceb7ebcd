"""Requests for thousands of objects process a bounded number of them in each turn of the event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

import pytest
import pytest_asyncio

from kubewright.api import core, meta
from kubewright.client import Client, MergePatch, Request, Response
from kubewright.cluster import Cluster
from kubewright.yaml import load_yaml

T = TypeVar("T")

# The number of objects that a turn may decode, and that it may only look at.
DECODED, SCANNED = 16, 128
OBJECTS = 640
PATH = "/api/v1/namespaces/many/configmaps"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
INITIAL = {"watch": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(seed=1, controllers=False) as cluster:
        yield cluster


@pytest_asyncio.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client(namespace="many") as client:
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name="many")))
        for number in range(OBJECTS):
            labels = {"parity": "odd" if number % 2 else "even"}
            await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name=f"c-{number:03}", labels=labels)))
            await client.create(core.Secret(metadata=meta.ObjectMeta(name=f"s-{number:03}")))
        yield client


async def counted(work: Awaitable[T]) -> tuple[T, int]:
    """Returns the result, and the number of turns of the event loop until then."""
    turns, task = 0, asyncio.ensure_future(work)
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    return await task, turns


async def send(
    cluster: Cluster, method: str = "GET", path: str = PATH, accept: str = "application/json", **query: str
) -> Response:
    verb = {"GET": "list", "DELETE": "deletecollection"}[method]
    request = Request(method=method, path=path, query=[*query.items()], headers={"Accept": accept}, verb=verb)
    return await cluster.transport().send(request)


@pytest.mark.parametrize(
    "query", [{}, {"fieldSelector": "metadata.name=c-001"}, {"fieldSelector": "metadata.name=none"}]
)
async def test_writes_a_yaml_list_in_turns(cluster: Cluster, client: Client, query: dict[str, str]) -> None:
    await client.patch(
        core.ConfigMap, "c-001", MergePatch({"data": {"lines": "a\nb\n", "words": "word " * 99, "no": ""}})
    )
    response, turns = await counted(send(cluster, accept="application/yaml", **query))
    listed = load_yaml(await response.read())
    assert listed == json.loads(await (await send(cluster, **query)).read())
    assert list(listed) == ["apiVersion", "items", "kind", "metadata"]
    assert turns >= len(listed["items"]) / 4


async def read_events(cluster: Cluster, count: int, path: str = PATH, **query: str) -> list[tuple[str, str]]:
    """Returns the types of the first events, and the names of their objects."""
    response, events = await send(cluster, path=path, **query), []
    async for chunk in response.chunks():
        events += [json.loads(line) for line in chunk.splitlines()]
        if len(events) >= count:
            break
    return [(each["type"], each["object"]["metadata"]["name"]) for each in events]


@pytest.mark.parametrize(
    ("accept", "query", "found", "in_a_turn"),
    [
        ("application/json", {}, OBJECTS, SCANNED),
        ("application/json", {"labelSelector": "parity=odd"}, OBJECTS // 2, SCANNED),
        ("application/json", {"labelSelector": "parity=odd", "limit": "300"}, 300, SCANNED),
        (PARTIAL, {}, OBJECTS, SCANNED),
        (TABLE, {}, OBJECTS, DECODED),
        (TABLE, {"limit": "100"}, 100, DECODED),
    ],
)
async def test_lists_in_turns(
    cluster: Cluster, client: Client, accept: str, query: dict[str, str], found: int, in_a_turn: int
) -> None:
    response, turns = await counted(send(cluster, accept=accept, **query))
    listed = json.loads(await response.read())
    assert len(listed.get("items") or listed["rows"]) == found
    assert turns >= found / in_a_turn


async def test_selects_by_fields_in_turns(cluster: Cluster, client: Client) -> None:
    path = "/api/v1/namespaces/many/secrets"
    response, turns = await counted(send(cluster, path=path, fieldSelector="type=unknown"))
    assert json.loads(await response.read())["items"] == []
    assert turns >= OBJECTS / DECODED


async def test_small_list_needs_one_turn(cluster: Cluster, client: Client) -> None:
    _, turns = await counted(send(cluster, limit="100"))
    assert turns == 1


async def test_list_does_not_contain_writes_of_its_turns(cluster: Cluster, client: Client) -> None:
    before = cluster.state.storage.revision
    task = asyncio.ensure_future(send(cluster, labelSelector="parity in (even, odd)"))
    await asyncio.sleep(0)
    assert not task.done()
    await client.delete(core.ConfigMap, "c-639")
    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="c-640", labels={"parity": "even"})))
    listed = json.loads(await (await task).read())
    assert [each["metadata"]["name"] for each in listed["items"]] == [f"c-{number:03}" for number in range(OBJECTS)]
    assert listed["metadata"]["resourceVersion"] == str(before)


async def test_deletes_collection_in_turns(cluster: Cluster, client: Client) -> None:
    task = asyncio.ensure_future(send(cluster, "DELETE", labelSelector="parity=odd"))
    while not task.done():
        before = cluster.state.storage.revision
        await asyncio.sleep(0)
        assert cluster.state.storage.revision - before <= DECODED
    assert len(json.loads(await (await task).read())["items"]) == OBJECTS // 2
    assert len(await client.list(core.ConfigMap)) == OBJECTS // 2


async def test_deletes_objects_of_a_collection_that_change_during_it(cluster: Cluster, client: Client) -> None:
    task = asyncio.ensure_future(send(cluster, "DELETE"))
    await asyncio.sleep(0)
    await client.patch(core.ConfigMap, "c-639", MergePatch({"data": {"changed": "1"}}))
    await client.delete(core.ConfigMap, "c-638")
    listed = json.loads(await (await task).read())
    assert len(listed["items"]) == OBJECTS - 1
    assert await client.list(core.ConfigMap) == []


@pytest.mark.parametrize("selector", ["", "parity=odd"])
async def test_sends_initial_events_in_turns(cluster: Cluster, client: Client, selector: str) -> None:
    count = OBJECTS // 2 if selector else OBJECTS
    events, turns = await counted(read_events(cluster, count, **INITIAL, labelSelector=selector))
    assert len(events) == count
    assert turns >= OBJECTS / SCANNED


async def test_selects_initial_events_by_fields_in_turns(cluster: Cluster, client: Client) -> None:
    path = "/api/v1/namespaces/many/secrets"
    work = read_events(cluster, OBJECTS, path=path, **INITIAL, fieldSelector="type=Opaque")
    assert (await counted(work))[1] >= OBJECTS / DECODED


async def test_sends_events_after_a_revision_in_turns(cluster: Cluster, client: Client) -> None:
    first = await client.get(core.ConfigMap, "c-000")
    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="last")))
    query = {"watch": "true", "resourceVersion": first.metadata.resource_version or ""}
    events, turns = await counted(read_events(cluster, OBJECTS, **query))
    assert len(events) == OBJECTS
    assert turns >= OBJECTS / SCANNED


async def test_events_during_the_initial_ones_follow_them(cluster: Cluster, client: Client) -> None:
    reading = asyncio.ensure_future(read_events(cluster, OBJECTS + 2, **INITIAL))
    await asyncio.sleep(0)
    await client.patch(core.ConfigMap, "c-639", MergePatch({"data": {"changed": "1"}}))
    await client.delete(core.ConfigMap, "c-000")
    names = [("ADDED", f"c-{number:03}") for number in range(OBJECTS)]
    assert await reading == [*names, ("MODIFIED", "c-639"), ("DELETED", "c-000")]
