"""A kube-apiserver that is killed, and one whose history has expired while no client watched."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kubewright.client import Client, MergePatch
from kubewright.testing import ControlPlane
from tests.faults.toys import (
    Journal,
    Toy,
    gone,
    health_of,
    is_watching,
    metric,
    reconciled,
    store_equals_server,
    toy,
    toy_operator,
)
from tests.patience import until

pytestmark = pytest.mark.control_plane


@pytest.mark.promise(
    "What happens when",
    "A killed API server is waited for: caches go on, writes that failed are tried again, no change is lost.",
)
async def test_a_killed_apiserver_is_waited_for_and_nothing_is_lost(
    plane: ControlPlane, admin: Client, room: str, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubewright")
    operator = toy_operator(room, journal)
    async with Client.connect(kubeconfig=plane.kubeconfig) as client, operator.running(client) as running:
        for number in range(5):
            await admin.create(toy(f"t-{number}", room))
        await reconciled(admin, room, *(f"t-{number}" for number in range(5)))

        await asyncio.to_thread(plane.kill_apiserver)
        # Reads go on from memory, and a reconcile whose write fails is one that is tried again.
        await until(lambda: "cannot be reached" in health_of(running).last_error, "the cache to say what is wrong")
        assert health_of(running).state == "waiting"
        assert metric(operator, "kubewright_watch_up", kind="Toy") == 0
        assert len(running.controller(Toy)._informer.lister) == 5
        journal.word = "second"
        running.enqueue(Toy, f"{room}/t-0")
        await until(lambda: metric(operator, "rest_client_requests_total", code="<error>") > 0, "a write that fails")

        await asyncio.to_thread(plane.start_apiserver)
        await admin.create(toy("late", room, size=7))
        await admin.patch(Toy, "t-1", MergePatch({"spec": {"size": 3}}), room)
        await admin.delete(Toy, "t-2", room)
        await reconciled(admin, room, "t-0", "t-1", "t-3", "t-4", "late")
        await gone(admin, room, "t-2")
        await until(lambda: is_watching(running), "the watches")
        await store_equals_server(running, admin, room)
        assert health_of(running).last_error == ""
        assert metric(operator, "kubewright_watch_up", kind="Toy") == 1
        assert list(journal.finalized.values()) == [1]
    assert "the server cannot be reached" in caplog.text
    assert "watching again" in caplog.text


@pytest.mark.promise(
    "What happens when",
    "Objects deleted during a disconnection are reported with their last known state, also after compaction.",
)
async def test_reports_deletions_during_a_disconnection_after_compaction(
    plane: ControlPlane, admin: Client, room: str, journal: Journal
) -> None:
    operator = toy_operator(room, journal, finalizes=False)
    proxy = plane.proxy()
    # Without children: one that was made for a toy of before, by a cache that lags behind, would need a collector.
    names = [f"toy-{number}" for number in range(1, 5)]
    async with Client.connect(kubeconfig=proxy.kubeconfig) as client, operator.running(client) as running:
        for size, name in enumerate(names, 1):
            await admin.create(toy(name, room, size))
        await reconciled(admin, room, *names)
        await store_equals_server(running, admin, room)

        proxy.refusing = True
        proxy.cut()
        await admin.patch(Toy, "toy-1", MergePatch({"spec": {"size": 10}}), room)  # no client ever sees this state
        await admin.delete(Toy, "toy-1", room)
        await admin.delete(Toy, "toy-2", room)
        recreated = await admin.create(toy("toy-2", room, size=20))
        await admin.patch(Toy, "toy-3", MergePatch({"spec": {"size": 30}}), room)
        await admin.create(toy("toy-9", room, size=90))
        await asyncio.to_thread(plane.expire_history)
        proxy.refusing = False

        await reconciled(admin, room, "toy-2", "toy-3", "toy-4", "toy-9")
        await until(lambda: journal.deleted.keys() == {"toy-1", "toy-2"}, "the missed deletions")
        assert {name: last.spec.size for name, last in journal.deleted.items()} == {"toy-1": 1, "toy-2": 2}
        assert journal.deleted["toy-2"].metadata.uid != recreated.metadata.uid
        assert metric(operator, "kubewright_watch_relists_total", kind="Toy") >= 1
        await store_equals_server(running, admin, room)
