"""Events are removed an hour after their last write, by the cluster's clock."""

from __future__ import annotations

import pytest

from kubewright.api import core, meta
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster


def an_event(name: str) -> core.Event:
    about = core.ObjectReference(kind="ConfigMap", name="a", namespace="default", api_version="v1")
    return core.Event(metadata=meta.ObjectMeta(name=name), involved_object=about, reason="Tested", message="m")


async def names(client: Client) -> list[str]:
    return [event.metadata.name for event in await client.list(core.Event)]


@pytest.mark.promise("The embedded cluster", "Events are removed an hour after their last write.")
async def test_removes_event_after_an_hour() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster, cluster.client(namespace="default") as client:
        await client.create(an_event("first"))
        await clock.advance(1800)
        await client.create(an_event("second"))
        await clock.advance(1799)
        assert await names(client) == ["first", "second"]
        await clock.advance(1)
        assert await names(client) == ["second"]
        await clock.advance(1800)
        assert await names(client) == []


@pytest.mark.promise("The embedded cluster", "Events are removed an hour after their last write.")
async def test_write_extends_event_by_an_hour() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster, cluster.client(namespace="default") as client:
        event = await client.create(an_event("again"))
        await clock.advance(3000)
        event.count = 2
        await client.update(event)
        await clock.advance(3000)
        assert await names(client) == ["again"]
        await clock.advance(600)
        assert await names(client) == []


async def test_watch_receives_deletion_of_expired_event() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster, cluster.client(namespace="default") as client:
        await client.create(an_event("gone"))
        revision = cluster.state.storage.revision
        await clock.advance(3600)
        seen = cluster.state.storage.events("/events", revision)
        assert [(each.kind, each.entry.name) for each in seen] == [("DELETED", "gone")]


async def test_keeps_objects_that_are_not_events() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster, cluster.client(namespace="default") as client:
        await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="a")))
        await clock.advance(7200)
        assert (await client.get(core.ConfigMap, "a")).metadata.name == "a"
