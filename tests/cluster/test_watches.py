"""Watches: bookmarks, timeouts, selectors, compaction, many watches, slow clients."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import Client, ClientConfig, Credentials, Response
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.watch import BOOKMARK_SECONDS
from tests.cluster.conftest import Raw

MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}}


class Events:
    """Reads the events of a watch one after the other."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self._chunks = response.chunks()
        self._lines: list[Any] = []

    async def next(self) -> Any:
        while not self._lines:
            self._lines = [json.loads(line) for line in (await anext(self._chunks)).splitlines()]
        return self._lines.pop(0)

    async def ended(self) -> bool:
        try:
            event = await self.next()
        except StopAsyncIteration:
            return True
        raise AssertionError(f"there is one more: {event}")


async def watch(raw: Raw, query: str = "", path: str = MAPS) -> Events:
    return Events(await raw.open("GET", f"{path}?watch=true{query}"))


@pytest.mark.promise("The embedded cluster", "Watches end at their timeout and send bookmarks, by the injected clock.")
async def test_watch_ends_at_timeout_or_after_half_an_hour(raw: Raw, clock: VirtualClock) -> None:
    short, long = await watch(raw, "&timeoutSeconds=5"), await watch(raw)
    await clock.advance(5)
    assert await short.ended()
    await clock.advance(1800 - 5)
    await raw("POST", MAPS, config_map("a"))
    assert (await long.next())["type"] == "ADDED"
    await clock.advance(1800)
    assert await long.ended()


async def test_watch_ends_when_its_crd_or_version_is_removed(raw: Raw) -> None:
    definitions, served = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/house.test/v1"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    for kind in ("Lamp", "Chair"):
        names = {"kind": kind, "plural": f"{kind.lower()}s"}
        spec = {"group": "house.test", "scope": "Cluster", "names": names, "versions": [version]}
        await raw("POST", definitions, {"metadata": {"name": f"{names['plural']}.house.test"}, "spec": spec})
    lamps, chairs = await watch(raw, path=f"{served}/lamps"), await watch(raw, path=f"{served}/chairs")
    await raw("POST", f"{served}/lamps", {"apiVersion": "house.test/v1", "kind": "Lamp", "metadata": {"name": "a"}})
    await raw("DELETE", f"{definitions}/lamps.house.test")
    assert [(await lamps.next())["type"] for _ in range(2)] == ["ADDED", "DELETED"]
    assert await lamps.ended()
    await raw("POST", f"{served}/chairs", {"apiVersion": "house.test/v1", "kind": "Chair", "metadata": {"name": "b"}})
    assert (await chairs.next())["type"] == "ADDED"
    definition = (await raw("GET", f"{definitions}/chairs.house.test")).body
    definition["spec"]["versions"] = [{**version, "name": "v2"}, {**version, "served": False, "storage": False}]
    await raw("PUT", f"{definitions}/chairs.house.test", definition)
    assert await chairs.ended()


@pytest.mark.promise("The embedded cluster", "Watches end at their timeout and send bookmarks, by the injected clock.")
async def test_sends_requested_bookmarks_every_minute(raw: Raw, clock: VirtualClock, embedded: Cluster) -> None:
    asked, other = await watch(raw, "&allowWatchBookmarks=true"), await watch(raw)
    await raw("POST", "/api/v1/namespaces/default/secrets", config_map("not-a-config-map"))
    await clock.advance(BOOKMARK_SECONDS)
    event = await asked.next()
    assert event["type"] == "BOOKMARK"
    assert event["object"]["kind"] == "ConfigMap"
    assert event["object"]["metadata"] == {"resourceVersion": str(embedded.state.storage.revision)}
    await clock.advance(BOOKMARK_SECONDS)
    assert (await asked.next())["type"] == "BOOKMARK"
    await raw("POST", MAPS, config_map("a"))
    assert (await other.next())["type"] == "ADDED"


@pytest.mark.promise("The embedded cluster", "History is bounded; requests for compacted revisions get 410.")
async def test_watch_from_compacted_revision_gets_410_event(raw: Raw, embedded: Cluster) -> None:
    made = await raw("POST", MAPS, config_map("a"))
    await raw("POST", MAPS, config_map("b"))
    oldest = embedded.compact()
    events = await watch(raw, f"&resourceVersion={made.body['metadata']['resourceVersion']}")
    event = await events.next()
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    revision = made.body["metadata"]["resourceVersion"]
    assert event["object"]["message"] == f"too old resource version: {revision} ({oldest})"
    assert await events.ended()


@pytest.mark.promise("The embedded cluster", "History is bounded; requests for compacted revisions get 410.")
async def test_page_of_compacted_revision_gets_410_with_continue_token(raw: Raw, embedded: Cluster) -> None:
    for name in "abc":
        await raw("POST", MAPS, config_map(name))
    page = await raw("GET", f"{MAPS}?limit=1")
    await raw("POST", MAPS, config_map("bb"))
    embedded.compact()
    late = await raw("GET", f"{MAPS}?limit=1&continue={page.body['metadata']['continue']}")
    assert (late.status, late.body["reason"]) == (410, "Expired")
    assert late.body["message"].startswith("The provided continue parameter is too old")
    rest = await raw("GET", f"{MAPS}?continue={late.body['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest.body["items"]] == ["b", "bb", "c"]


@pytest.mark.promise(
    "The embedded cluster",
    "A write costs nothing for watches of other scopes, and is encoded once for all others.",
)
async def test_encodes_event_once_for_all_watches(raw: Raw, embedded: Cluster) -> None:
    responses = [await raw.open("GET", f"{MAPS}?watch=true&resourceVersion=5") for _ in range(100)]
    await raw("POST", MAPS, config_map("a"))
    chunks = [await anext(response.chunks()) for response in responses]
    assert len({id(chunk) for chunk in chunks}) == 1


async def test_closed_watch_is_removed(raw: Raw, embedded: Cluster) -> None:
    events = await watch(raw)
    reading = asyncio.create_task(events.next())
    await asyncio.sleep(0)
    events.response.close()
    with pytest.raises(StopAsyncIteration):
        await reading
    assert embedded.state.storage._tables["/configmaps"].by_namespace == {}


def large_map(number: int) -> dict[str, Any]:
    return {"metadata": {"name": f"large-{number:02}"}, "data": {"text": "x" * 900_000}}


async def test_ends_watch_whose_client_does_not_read(raw: Raw, embedded: Cluster) -> None:
    events = await watch(raw)
    for number in range(20):  # 18 MB
        assert (await raw("POST", MAPS, large_map(number))).status == 201
    assert await events.ended()
    assert not embedded.state.watchers
    assert embedded.state.storage._tables["/configmaps"].by_namespace == {}


async def test_ends_watch_whose_client_does_not_read_initial_events(raw: Raw, embedded: Cluster) -> None:
    await raw("POST", MAPS, config_map("first"))
    events = await watch(raw)
    for number in range(20):
        await raw("POST", MAPS, large_map(number))
    assert await events.ended()
    assert not embedded.state.watchers


async def test_reader_in_this_process_keeps_up_with_a_burst_of_writes(raw: Raw) -> None:
    async def names() -> list[str]:
        return [(await events.next())["object"]["metadata"]["name"] for _ in range(60)]

    events = await watch(raw)
    reading = asyncio.create_task(names())
    for number in range(30):
        await raw("POST", MAPS, large_map(number))
    await raw("DELETE", MAPS)  # another 27 MB
    expected = [f"large-{number:02}" for number in range(30)]
    assert await reading == [*expected, *expected]


async def test_encodes_initial_events_as_the_client_reads(raw: Raw) -> None:
    revision = (await raw("GET", MAPS)).body["metadata"]["resourceVersion"]
    for number in range(10):
        await raw("POST", MAPS, large_map(number))
    tracemalloc.start()
    try:
        unread = [await watch(raw, query) for query in ("", f"&resourceVersion={revision}") for _ in range(10)]
        assert tracemalloc.get_traced_memory()[0] < 2**20  # instead of 180 MB
    finally:
        tracemalloc.stop()
    await raw("POST", MAPS, config_map("last"))
    for events in unread:
        names = [(await events.next())["object"]["metadata"]["name"] for _ in range(11)]
        assert names == [*(f"large-{number:02}" for number in range(10)), "last"]


async def test_client_that_did_not_read_its_socket_watches_again_and_misses_nothing(embedded: Cluster) -> None:
    admin = embedded.client()
    url = await embedded.serve(tls=False)
    async with Client(ClientConfig(server=url, credentials=Credentials(token=embedded.token))) as client:
        stream = await client.open_watch(core.ConfigMap, "default", resource_version="1")
        for number in range(40):  # more than the buffers of both sockets
            await admin.create(core.ConfigMap(metadata=ObjectMeta(name=f"c{number}"), data={"a": "x" * 900_000}))
        assert not embedded.state.watchers
        seen = [event async for batch in stream.batches() for event in batch]
        assert 0 < len(seen) < 40
        last = json.loads(seen[-1])["object"]["metadata"]["resourceVersion"]
        rest = (await client.open_watch(core.ConfigMap, "default", resource_version=last)).batches()
        while len(seen) < 40:
            seen += await anext(rest)
    assert [json.loads(event)["object"]["metadata"]["name"] for event in seen] == [f"c{n}" for n in range(40)]


async def test_waits_for_future_revision_then_rejects(raw: Raw, clock: VirtualClock) -> None:
    answer = await clock.run(raw("GET", f"{MAPS}?resourceVersion=1000"))
    assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    assert answer.body["details"]["retryAfterSeconds"] == 1
    assert clock.monotonic() == 3.0


async def test_watch_from_future_revision_waits_for_it(raw: Raw, embedded: Cluster) -> None:
    later = embedded.state.storage.revision + 2
    events = await watch(raw, f"&resourceVersion={later}")
    for name in "abc":
        await raw("POST", MAPS, config_map(name))
    assert (await events.next())["object"]["metadata"]["name"] == "c"


async def test_stopping_the_cluster_ends_all_watches() -> None:
    async with Cluster() as cluster:
        events = await watch(Raw(cluster.transport()))
        state = cluster.state
        assert len(state.watchers) == 1
    assert await events.ended()
    assert not state.watchers
