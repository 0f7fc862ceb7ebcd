"""`Reflector` and `Store` without an informer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.cache import CacheSyncError, Change, ListWatch, ObjectKey, Reflector, Store
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from tests.transports.memory import MemoryServer

PAGE = Path(__file__).parents[2] / "docs" / "cache.md"


@asynccontextmanager
async def running(reflector: Reflector[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(reflector.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.mark.promise("The stream from the server", "Reflector and store can be used on their own.")
async def test_a_reflector_fills_a_store_and_calls_handlers() -> None:
    server, clock = MemoryServer(), VirtualClock()
    server.put("shop", "a", labels={"app": "web"})
    store: Store[core.ConfigMap] = Store({"app": lambda obj: (obj.metadata.labels or {}).values()})
    seen: list[tuple[str, str, bool]] = []

    def handle(change: Change[core.ConfigMap]) -> None:
        seen.append((change.type, change.key.name, change.initial))

    source = ListWatch(Client(transport=server, clock=clock), core.ConfigMap, "shop")
    reflector = Reflector(source, store, handlers=[handle], clock=clock)
    assert not reflector.synced
    async with running(reflector):
        await reflector.wait_for_sync(5)
        assert reflector.synced
        server.put("shop", "b")
        server.delete("shop", "a")
        await clock.settled()
        assert seen == [("added", "a", True), ("added", "b", False), ("deleted", "a", False)]
        assert store.get(ObjectKey("shop", "a")) is None
        assert store.index("app").keys("web") == []
        assert [snapshot.name for snapshot in store.select("shop")] == ["b"]
    assert reflector.health.state == "stopped"


async def test_two_reflectors_share_a_store() -> None:
    server, clock = MemoryServer(), VirtualClock()
    client, store = Client(transport=server, clock=clock), Store[core.ConfigMap]()
    for namespace in ("left", "right", "other"):
        server.put(namespace, "a")
    reflectors = [Reflector(ListWatch(client, core.ConfigMap, name), store, clock=clock) for name in ("left", "right")]
    async with running(reflectors[0]), running(reflectors[1]):
        await clock.settled()
        assert store.ordered_keys() == [ObjectKey("left", "a"), ObjectKey("right", "a")]


async def test_wait_for_sync_reports_the_reason() -> None:
    clock = VirtualClock()
    source = ListWatch(Client(transport=MemoryServer(), clock=clock), core.ConfigMap)
    waiting = asyncio.create_task(Reflector(source, Store(), clock=clock).wait_for_sync(30))
    await clock.advance(30)
    with pytest.raises(CacheSyncError, match=r"ConfigMap \(v1\): the server has not answered yet"):
        await waiting


async def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    section = PAGE.read_text().partition("## Reflector and store alone")[2]
    block = re.search(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert block is not None
    program: dict[str, Any] = {}
    exec(compile(block[1], str(PAGE), "exec"), program)
    async with Cluster() as cluster, cluster.client() as client:
        await client.create(core.Namespace(metadata=ObjectMeta(name="shop")))
        pod = core.Pod(
            metadata=ObjectMeta(name="web", namespace="shop"),
            spec=core.PodSpec(node_name="n1", containers=[core.Container(name="web", image="nginx")]),
        )
        await client.create(pod)
        await program["main"](client)
    assert capsys.readouterr().out.splitlines() == ["added web", "on n1: ['web']"]
