"""Caches whose namespaces change while they run, in virtual time."""

from __future__ import annotations

import pytest

from kubewright.api import core
from kubewright.cache import Change, Informer
from kubewright.client import Client
from kubewright.clock import VirtualClock
from tests.transports.memory import MemoryServer


def seen(changes: list[Change[core.ConfigMap]]) -> list[tuple[str, str]]:
    return [(change.type, str(change.key)) for change in changes]


@pytest.mark.promise(
    "Listening to the cache", "Objects of a namespace that leaves the cache are reported as left, not as deleted."
)
async def test_objects_of_a_removed_namespace_leave_and_are_not_deleted() -> None:
    server, clock = MemoryServer(), VirtualClock()
    server.put("shop", "a")
    changes: list[Change[core.ConfigMap]] = []
    informer = Informer(Client(transport=server, clock=clock), core.ConfigMap, following=True, clock=clock)
    informer.add_handler(changes.append)
    async with informer:
        informer.names_known()
        await clock.settled()
        assert informer.synced, "no namespace is complete, too"
        assert (informer.namespaces, informer.objects, informer.health.state) == ((), 0, "watching")
        synced: list[str] = []
        informer.add_namespace("shop", lambda: synced.append("shop"))
        await clock.settled()
        assert synced == ["shop"]
        assert (seen(changes), informer.objects) == ([], 1), "handlers wait until the namespace is opened"
        server.put("shop", "b")
        await clock.settled()
        assert seen(changes) == []
        informer.open_namespace("shop")
        assert seen(changes) == [("added", "shop/a"), ("added", "shop/b")]
        server.delete("shop", "b")
        await clock.settled()
        informer.remove_namespace("shop")
        await clock.settled()
        assert seen(changes)[2:] == [("deleted", "shop/b"), ("left", "shop/a")]
        assert not informer.covers("shop")
        server.put("shop", "c")
        await clock.settled()
        assert (len(changes), informer.objects) == (4, 0), "the watch has ended"


async def test_a_namespace_that_is_gone_takes_its_objects_along() -> None:
    server, clock = MemoryServer(), VirtualClock()
    server.put("shop", "a")
    changes: list[Change[core.ConfigMap]] = []
    informer = Informer(Client(transport=server, clock=clock), core.ConfigMap, following=True, clock=clock)
    informer.add_handler(changes.append)
    async with informer:
        informer.add_namespace("shop", lambda: informer.open_namespace("shop"))
        await clock.settled()
        informer.remove_namespace("shop", deleted=True)
        assert seen(changes) == [("added", "shop/a"), ("deleted", "shop/a")]
        assert changes[-1].missed


async def test_a_namespace_that_is_removed_before_it_was_opened_is_never_delivered() -> None:
    server, clock = MemoryServer(), VirtualClock()
    server.put("shop", "a")
    changes: list[Change[core.ConfigMap]] = []
    informer = Informer(Client(transport=server, clock=clock), core.ConfigMap, following=True, clock=clock)
    informer.add_handler(changes.append)
    async with informer:
        informer.add_namespace("shop", lambda: None)
        await clock.settled()
        informer.remove_namespace("shop")
        informer.open_namespace("shop")
        assert (seen(changes), informer.objects) == ([], 0)
