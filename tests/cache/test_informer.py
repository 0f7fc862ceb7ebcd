"""Informers: what handlers hear, what reads see, and what waiting for sync says."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from kubewright.api import DecodeError, Object, core, decode
from kubewright.cache import Caches, CacheSyncError, Change, Informer, transform_json
from kubewright.client import Client, ConnectionLost
from kubewright.clock import VirtualClock
from tests.transports.memory import MemoryServer, informed, informer_of

ConfigMapChange = Change[core.ConfigMap]


def delivered(changes: list[ConfigMapChange]) -> list[tuple[str, str, bool]]:
    return [(change.type, change.key.name, change.initial) for change in changes]


def server_with(*names: str) -> MemoryServer:
    server = MemoryServer()
    for name in names:
        server.put("shop", name)
    return server


# Handlers


@pytest.mark.promise(
    "Listening to the cache",
    "A handler hears of every object once, marked as the initial list, and then of every change in order.",
)
@pytest.mark.promise(
    "Listening to the cache",
    "Many handlers share one watch, and equal informers share one cache.",
)
async def test_each_handler_receives_every_object_once_and_then_every_change_in_order() -> None:
    server, clock = server_with("a", "b"), VirtualClock()
    informer = informer_of(server, clock)
    early: list[ConfigMapChange] = []
    informer.add_handler(early.append)
    async with informer:
        await clock.settled()
        late: list[ConfigMapChange] = []
        registration = informer.add_handler(late.append)
        assert registration.synced
        assert delivered(early) == delivered(late) == [("added", "a", True), ("added", "b", True)]
        server.put("shop", "c")
        server.put("shop", "a")
        server.delete("shop", "b")
        server.put("shop", "a")
        await clock.settled()
        news = [("added", "c", False), ("updated", "a", False), ("deleted", "b", False), ("updated", "a", False)]
        assert delivered(early)[2:] == delivered(late)[2:] == news
        first, second = early[3], early[5]
        assert first.new is second.old
        assert first.old is not None
        assert first.old.resource_version < first.snapshot.resource_version


@pytest.mark.promise("Listening to the cache", "A deletion carries the last state; one that was missed says so.")
async def test_a_deletion_carries_the_last_state() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        changes: list[ConfigMapChange] = []
        informer.add_handler(changes.append)
        server.put("shop", "a", labels={"last": "yes"})
        server.delete("shop", "a")
        await clock.settled()
        assert changes[-1].type == "deleted"
        assert changes[-1].new is None
        assert changes[-1].snapshot.labels == {"last": "yes"}
        assert changes[-1].snapshot.resource_version == server.revision
        assert not changes[-1].missed


@pytest.mark.promise("Listening to the cache", "A handler that raises is logged and affects no other.")
async def test_failing_handler_is_logged_and_affects_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def broken(change: ConfigMapChange) -> None:
        raise RuntimeError("boom")

    server = server_with("a")
    async with informed(server) as (informer, clock):
        changes: list[ConfigMapChange] = []
        informer.add_handler(broken)
        informer.add_handler(changes.append)
        server.put("shop", "b")
        await clock.settled()
        assert delivered(changes) == [("added", "a", True), ("added", "b", False)]
        assert "broken failed on ConfigMap shop/b (added)" in caplog.text
        assert "boom" in caplog.text
        assert informer.health.state == "watching"


@pytest.mark.promise("Listening to the cache", "Handlers come and go at any time.")
async def test_removed_handler_receives_nothing() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        changes: list[ConfigMapChange] = []
        registration = informer.add_handler(changes.append, resync=10)
        registration.remove()
        registration.remove()
        server.put("shop", "b")
        await clock.advance(60)
        assert delivered(changes) == [("added", "a", True)]
        assert not registration.synced


@pytest.mark.promise("Listening to the cache", "Handlers come and go at any time.")
async def test_handlers_may_come_and_go_inside_a_handler() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        inner: list[ConfigMapChange] = []
        outer: list[ConfigMapChange] = []

        def once(change: ConfigMapChange) -> None:
            outer.append(change)
            if change.key.name == "b":
                registration.remove()
                informer.add_handler(inner.append)

        registration = informer.add_handler(once)
        server.put("shop", "b")
        server.put("shop", "c")
        await clock.settled()
        assert delivered(outer) == [("added", "a", True), ("added", "b", False)]
        assert delivered(inner) == [("added", "a", True), ("added", "b", True), ("added", "c", False)]


@pytest.mark.promise("Listening to the cache", "Resyncs come from the store, at each handler's own period.")
async def test_resyncs_come_from_the_store_at_each_handlers_own_period() -> None:
    server = server_with("a", "b")
    async with informed(server) as (informer, clock):
        often: list[ConfigMapChange] = []
        seldom: list[ConfigMapChange] = []
        never: list[ConfigMapChange] = []
        informer.add_handler(often.append, resync=10)
        informer.add_handler(seldom.append, resync=30)
        informer.add_handler(never.append)
        asked = len(server.requests)
        await clock.advance(65)
        assert delivered(often)[2:] == [("resync", "a", False), ("resync", "b", False)] * 6
        assert delivered(seldom)[2:] == [("resync", "a", False), ("resync", "b", False)] * 2
        assert len(never) == 2
        assert often[-1].old is often[-1].new
        assert len(server.requests) == asked


@pytest.mark.promise("Listening to the cache", "Resyncs come from the store, at each handler's own period.")
async def test_a_resync_of_a_large_store_reaches_everything() -> None:
    server = server_with(*(f"o-{number:04}" for number in range(1300)))
    async with informed(server) as (informer, clock):
        heard: list[str] = []
        informer.add_handler(
            lambda change: heard.append(change.key.name) if change.type == "resync" else None, resync=5
        )
        await clock.advance(5)
        assert heard == sorted(server_name for _, server_name in server.objects)


async def test_rejects_a_resync_period_of_zero() -> None:
    with pytest.raises(ValueError, match=r"resync must be a duration, .*, and more than 0, not 0"):
        informer_of(MemoryServer(), VirtualClock()).add_handler(print, resync=0)


# Reading


@pytest.mark.promise("What the cache keeps", "Every read gives a fresh object that belongs to its reader alone.")
@pytest.mark.promise("Reading the cache", "Lists come in a stable order.")
async def test_reads_give_fresh_private_objects_in_order() -> None:
    server = server_with("b", "a")
    server.put("early", "z")
    async with informed(server) as (informer, _):
        lister = informer.lister
        assert [str(key) for key in lister.keys()] == ["early/z", "shop/a", "shop/b"]  # noqa: SIM118
        one, two = lister.get("a", "shop"), lister.get("a", "shop")
        assert one is not None
        assert one == two
        one.data = {"changed": "here only"}
        assert lister.get("a", "shop") == two
        assert one.metadata.origin is not None
        assert lister.get("nope", "shop") is None
        assert [obj.metadata.name for obj in lister.list("shop")] == ["a", "b"]
        iterator = lister.iterate("shop")
        assert next(iterator).metadata.name == "a"


@pytest.mark.promise(
    "Reading the cache",
    "There are indexes by namespace, by owner, by label and by a function with many values.",
)
async def test_selectors_and_indexes_find_matching_objects() -> None:
    server = MemoryServer()
    server.put("shop", "a", labels={"app": "web", "weight": "3"}, owner="u-1")
    server.put("shop", "b", labels={"app": "db"}, owner="u-2")
    server.put("bank", "c", labels={"app": "web"}, owner="u-1")

    def words(obj: core.ConfigMap) -> list[str]:
        return [obj.metadata.name, obj.metadata.namespace, obj.metadata.namespace]

    async with informed(server, indexes={"words": words}) as (informer, clock):
        lister = informer.lister

        def names(found: list[core.ConfigMap]) -> list[str]:
            return [obj.metadata.name for obj in found]

        assert names(lister.list(labels="app=web")) == ["c", "a"]
        assert names(lister.list("shop", {"app": "web"})) == ["a"]
        assert names(lister.list(labels="app in (web,db),weight>2")) == ["a"]
        assert names(lister.list(labels="app!=web")) == ["b"]
        assert names(lister.list(labels="")) == ["c", "a", "b"]
        assert names(lister.by_owner("u-1")) == ["c", "a"]
        assert names(lister.by_index("words", "shop")) == ["a", "b"]
        with pytest.raises(KeyError, match="there is no index 'nope'; known indexes: namespace, owner, words"):
            lister.by_index("nope", "x")
        server.put("shop", "a", labels={"app": "db"}, owner="u-2")
        server.delete("bank", "c")
        await clock.settled()
        assert names(lister.list(labels="app=web")) == []
        assert names(lister.list(labels="app=db")) == ["a", "b"]
        assert lister.by_owner("u-1") == []
        assert lister.by_index("words", "bank") == []


@pytest.mark.promise("Reading the cache", "An index stays in step with the store, and can be added late.")
@pytest.mark.promise(
    "What wakes a reconciler",
    "A predicate, map function, index or transform that fails, whatever it raises, spoils that object only.",
)
@pytest.mark.parametrize("error", [LookupError, SystemExit, asyncio.CancelledError])
async def test_an_index_can_be_added_later_and_only_one_way(
    caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    def fails_for_b(obj: core.ConfigMap) -> list[str]:
        if obj.metadata.name == "b":
            raise error("not this one")
        return ["x"]

    async with informed(server_with("a", "b")) as (informer, _):
        informer.add_index("late", fails_for_b)
        informer.add_index("late", fails_for_b)
        assert [obj.metadata.name for obj in informer.lister.by_index("late", "x")] == ["a"]
        assert "shop/b" in caplog.text
        assert "not this one" in caplog.text
        with pytest.raises(ValueError, match="the index 'late' already exists"):
            informer.add_index("late", lambda obj: [])


@pytest.mark.promise("What the cache keeps", "An object that does not fit its model spoils no list and stops no watch.")
async def test_an_object_that_does_not_fit_its_model_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    server = server_with("bad", "good")
    server.objects["shop", "bad"]["data"] = {"number": 5}
    async with informed(server) as (informer, _):
        for _ in range(3):
            assert [obj.metadata.name for obj in informer.lister.list()] == ["good"]
        with pytest.raises(DecodeError, match=r"ConfigMap shop/bad: data\[\.\.\.\]: expected `str`, got `int`"):
            informer.lister.get("bad", "shop")
        assert informer.health.undecodable == 1
        assert [record.levelno for record in caplog.records] == [logging.WARNING]
        assert informer.lister.keys() == [("shop", "bad"), ("shop", "good")]


async def test_logs_each_undecodable_state_once_however_many_objects_there_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = [f"bad-{number}" for number in range(1_500)]
    server = server_with(*names)
    for name in names:
        server.objects["shop", name]["data"] = {"number": 5}
    async with informed(server) as (informer, _):
        for _ in range(3):
            assert informer.lister.list() == []
        assert informer.health.undecodable == 1_500
        assert len(caplog.records) == 1_500


@pytest.mark.promise("Reading the cache", "Reads are plain calls that any thread may make.")
async def test_reads_are_safe_from_threads_while_the_watch_writes() -> None:
    server = server_with(*(f"o-{number}" for number in range(50)))
    async with informed(server) as (informer, clock):
        stop = False

        def read() -> int:
            rounds = 0
            while not stop or rounds < 5:
                for obj in informer.lister.list("shop", "app=web"):
                    assert obj.metadata.labels["app"] == "web"
                informer.lister.by_owner("u-1")
                keys = informer.lister.keys()
                assert keys == sorted(set(keys))
                rounds += 1
            return rounds

        readers = [asyncio.create_task(asyncio.to_thread(read)) for _ in range(3)]
        for number in range(400):
            server.put("shop", f"o-{number % 60}", labels={"app": "web" if number % 2 else "db"}, owner="u-1")
            server.delete("shop", f"o-{(number * 7) % 60}")
            await clock.settled()
        stop = True
        assert all(rounds >= 5 for rounds in await asyncio.gather(*readers))


# What is cached


@pytest.mark.promise("What the cache keeps", "The cache may hold one namespace, several or all.")
async def test_namespaces_have_a_watch_each_and_one_store() -> None:
    server = MemoryServer()
    for namespace in ("a", "b", "c"):
        server.put(namespace, "x")
    async with informed(server, namespaces=["b", "a"]) as (informer, clock):
        assert [request.namespace for request in server.requests] == ["a", "b"]
        assert informer.lister.keys() == [("a", "x"), ("b", "x")]
        server.put("c", "y")
        server.put("b", "y")
        await clock.settled()
        assert informer.lister.keys() == [("a", "x"), ("b", "x"), ("b", "y")]


@pytest.mark.promise("Reading the cache", "Waiting for sync ends after a time, and says which kind lacks what.")
async def test_several_namespaces_are_synced_when_all_are() -> None:
    class HalfDown(MemoryServer):
        async def send(self, request: Any) -> Any:
            if request.namespace == "b":
                raise ConnectionLost("b is away", sent=False)
            return await super().send(request)

    server = HalfDown()
    server.put("a", "x")
    async with informed(server, namespaces=["a", "b"]) as (informer, clock):
        assert len(informer.lister) == 1
        assert not informer.synced
        with pytest.raises(CacheSyncError, match="b is away"):
            await clock.run(informer.wait_for_sync(60))


def test_options_that_cannot_work_are_refused() -> None:
    client = Client(transport=MemoryServer())
    with pytest.raises(TypeError, match=r"namespaces is a sequence of names, not one string: namespaces=\('shop',\)"):
        Informer(client, core.ConfigMap, namespaces="shop")
    with pytest.raises(ValueError, match=r"Node \(v1\) is cluster-scoped: it cannot be cached for the namespaces shop"):
        Informer(client, core.Node, namespaces=["shop"])
    with pytest.raises(TypeError, match="is not a kind yet"):
        Informer(client, Object)


# Our own writes


def raw(obj: dict[str, Any]) -> bytes:
    return json.dumps(obj).encode()


@pytest.mark.promise(
    "Our own writes",
    "Gets, lists and indexes show a write at once; handlers hear what is confirmed, and nothing else.",
)
@pytest.mark.promise("Our own writes", "What lies over the store goes by an event, a bookmark or a new list.")
async def test_reads_include_own_writes_and_handlers_receive_confirmed_states() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        changes: list[ConfigMapChange] = []
        informer.add_handler(changes.append)
        informer.written(raw(server.put("shop", "a", labels={"ours": "1"})))
        informer.written(raw(server.put("shop", "new", owner="u-9")))
        assert informer.lister.list("shop", "ours=1")[0].metadata.name == "a"
        assert [obj.metadata.name for obj in informer.lister.by_owner("u-9")] == ["new"]
        assert informer.lister.keys() == [("shop", "a"), ("shop", "new")]
        assert len(informer.lister) == 2
        assert delivered(changes) == [("added", "a", True)]
        await clock.settled()
        assert delivered(changes)[1:] == [("updated", "a", False), ("added", "new", False)]
        assert len(informer._overlay) == 0


@pytest.mark.promise("Our own writes", "A write of ours never hides a newer one.")
async def test_our_write_does_not_hide_a_newer_one() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        ours = raw(server.put("shop", "a", labels={"by": "us"}))
        server.put("shop", "a", labels={"by": "them"})
        await clock.settled()
        informer.written(ours)
        shown = informer.lister.get("a", "shop")
        assert shown is not None
        assert shown.metadata.labels == {"by": "them"}


@pytest.mark.promise("Our own writes", "A write of ours never hides a newer one.")
async def test_a_late_answer_does_not_raise_the_dead() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        ours = raw(server.put("shop", "b"))
        server.delete("shop", "b")
        await clock.settled()
        informer.written(ours)
        assert informer.lister.get("b", "shop") is None


@pytest.mark.promise("Our own writes", "A deletion of ours hides that very object, by its uid.")
async def test_our_deletion_hides_that_very_object() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        gone = server.delete("shop", "a")
        assert gone is not None
        informer.removed(("shop", "a"), gone["metadata"]["uid"])
        assert informer.lister.get("a", "shop") is None
        assert informer.lister.list() == []
        assert len(informer.lister) == 0
        informer.written(raw(server.put("shop", "a", labels={"second": "life"})))
        assert len(informer.lister.list(labels="second=life")) == 1
        await clock.settled()
        assert len(informer._overlay) == 0
        assert len(informer.lister.list(labels="second=life")) == 1


@pytest.mark.promise("Our own writes", "A deletion of ours hides that very object, by its uid.")
async def test_an_object_that_something_keeps_is_shown_again_as_deleting() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        uid = server.objects["shop", "a"]["metadata"]["uid"]
        informer.removed(("shop", "a"), uid)
        assert informer.lister.get("a", "shop") is None
        server.put("shop", "a", deletionTimestamp="2030-01-01T00:00:00Z")
        await clock.settled()
        shown = informer.lister.snapshot(("shop", "a"))
        assert shown is not None
        assert shown.deleting
        informer.removed(("shop", "a"), uid)
        assert informer.lister.snapshot(("shop", "a")) is shown


async def test_the_answer_that_removed_the_last_finalizer_means_gone() -> None:
    server = server_with("a")
    async with informed(server) as (informer, clock):
        server.put("shop", "a", deletionTimestamp="2030-01-01T00:00:00Z")
        await clock.settled()
        answer = json.loads(json.dumps(server.named(server.objects["shop", "a"])))
        del answer["metadata"]["finalizers"]
        informer.written(raw(answer))
        assert informer.lister.get("a", "shop") is None
        server.put("shop", "a")  # a write of another client, in flight when the finalizer was removed
        await clock.settled()
        assert informer.lister.get("a", "shop") is None
        server.delete("shop", "a")
        await clock.settled()
        assert len(informer._overlay) == 0


async def test_a_pod_that_may_still_shut_down_is_not_gone() -> None:
    server = server_with("a")
    async with informed(server) as (informer, _):
        answer = server.put("shop", "a", deletionTimestamp="2030-01-01T00:00:30Z")
        del answer["metadata"]["finalizers"]
        answer["metadata"]["deletionGracePeriodSeconds"] = 30
        informer.written(raw(answer))
        shown = informer.lister.snapshot(("shop", "a"))
        assert shown is not None
        assert shown.deleting


@pytest.mark.promise("Our own writes", "What lies over the store goes by an event, a bookmark or a new list.")
async def test_a_write_that_leaves_the_selection_hides_the_object() -> None:
    server = MemoryServer()
    server.put("shop", "a", labels={"app": "web"})
    async with informed(server, labels="app=web") as (informer, clock):
        informer.written(raw(server.put("shop", "a", labels={"app": "db"})))
        informer.written(raw(server.put("shop", "b", labels={"app": "db"})))
        assert informer.lister.list() == []
        server.bookmark()
        await clock.settled()
        assert informer.lister.list() == []
        assert len(informer._overlay) == 0
        left = raw(server.put("shop", "a", labels={"app": "db"}))
        server.put("shop", "a", labels={"app": "web"})
        await clock.settled()
        informer.written(left)
        assert len(informer.lister.list()) == 1


async def test_a_write_is_taken_from_an_object_as_the_client_returns_it() -> None:
    server = server_with("a")
    async with informed(server) as (informer, _):
        informer.written(decode(core.ConfigMap, raw(server.put("shop", "b"))))
        assert informer.lister.get("b", "shop") is not None


# Waiting for sync


async def test_wait_for_sync_reports_an_informer_that_does_not_run() -> None:
    clock = VirtualClock()
    informer = informer_of(MemoryServer(), clock)
    with pytest.raises(CacheSyncError, match=r"not in sync after 5s: ConfigMap \(v1\): the informer is not running"):
        await clock.run(informer.wait_for_sync(5))


async def test_informer_can_run_again_and_continues_where_it_was() -> None:
    server, clock = server_with("a"), VirtualClock()
    informer = informer_of(server, clock)
    async with informer:
        await clock.settled()
        with pytest.raises(RuntimeError, match="is already running"):
            await informer.run()
    assert informer.health.state == "stopped"
    server.delete("shop", "a")
    server.put("shop", "b")
    async with informer:
        await clock.settled()
        assert informer.lister.keys() == [("shop", "b")]
    assert server.watches == []


# Caches


@pytest.mark.promise(
    "Listening to the cache",
    "Many handlers share one watch, and equal informers share one cache.",
)
async def test_caches_share_informers_that_hold_the_same() -> None:
    clock, client = VirtualClock(), Client(transport=server_with("a"))
    caches = Caches(client, clock=clock, field_manager="me")
    one = caches.informer(core.ConfigMap, labels={"a": "b"}, namespaces=["y", "x"])
    assert caches.informer(core.ConfigMap, labels="a=b", namespaces=("x", "y")) is one
    others: list[Informer[Any]] = [
        caches.informer(core.ConfigMap),
        caches.informer(core.ConfigMap, labels="a"),
        caches.informer(core.ConfigMap, fields={"metadata.name": "a"}),
        caches.informer(core.ConfigMap, metadata_only=True),
        caches.informer(core.Secret),
    ]
    transform = transform_json(lambda content: content)
    others.append(caches.informer(core.ConfigMap, transform=transform))
    assert len({id(informer) for informer in [one, *others]}) == 7
    assert list(caches.informers) == [one, *others]
    assert caches.lister(core.ConfigMap) is others[0].lister
    assert caches.informer(core.ConfigMap, transform=transform) is others[-1]


async def test_caches_start_later_informers_and_stop_all() -> None:
    server, clock = server_with("a"), VirtualClock()
    caches = Caches(Client(transport=server, clock=clock), clock=clock, namespaces=["shop"])
    first = caches.informer(core.ConfigMap)
    async with caches:
        await clock.run(caches.wait_for_sync(5))
        second = caches.informer(core.ConfigMap, labels="none")
        assert not caches.synced
        await clock.run(caches.wait_for_sync(5))
        assert (len(first.lister), len(second.lister)) == (1, 0)
        assert first.namespaces == ("shop",)
        shared = caches.informer(core.ConfigMap, indexes={"name": lambda obj: [obj.metadata.name]})
        assert shared is first
        assert len(first.lister.by_index("name", "a")) == 1
    assert server.watches == []


@pytest.mark.promise("Reading the cache", "Waiting for sync ends after a time, and says which kind lacks what.")
async def test_caches_name_everything_that_is_not_in_sync() -> None:
    server, clock = MemoryServer(forbidden={"watch", "list"}), VirtualClock()
    caches = Caches(Client(transport=server, clock=clock), clock=clock)
    caches.informer(core.ConfigMap)
    caches.informer(core.Secret)
    async with caches:
        with pytest.raises(CacheSyncError) as caught:
            await clock.run(caches.wait_for_sync(5))
    assert list(caught.value.reasons) == ["ConfigMap (v1)", "Secret (v1)"]


async def test_informer_cancelled_by_another_task_is_a_failure() -> None:
    server, clock = server_with("a"), VirtualClock()
    async with Caches(Client(transport=server, clock=clock), clock=clock) as caches:
        informer = caches.informer(core.ConfigMap)
        await clock.run(informer.wait_for_sync(60))
        [task] = caches._tasks.values()
        task.cancel()
        with pytest.raises(RuntimeError, match="the informer of ConfigMap ended unexpectedly"):
            await clock.run(caches.wait_for_failure())
