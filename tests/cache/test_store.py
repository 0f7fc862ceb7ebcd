"""What is kept of an object, what a read costs, and what it does not do: decode, search everything, or make tasks."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from kubewright.api import Selector, core
from kubewright.cache import Change, ObjectKey, SnapshotDecoder, Store
from tests.patience import PATIENCE
from tests.transports.memory import MemoryServer, informed


def spoil(server: MemoryServer, namespace: str, name: str) -> None:
    """From now on the object does not fit its model: decoding it is noticed."""
    server.objects[namespace, name]["data"] = {"number": 5}


@pytest.mark.promise("What the cache keeps", "What the header answers is answered without decoding.")
async def test_questions_about_the_header_decode_nothing() -> None:
    server = MemoryServer()
    for name in ("a", "b"):
        server.put("shop", name, labels={"app": "web"}, owner="u-1")
        spoil(server, "shop", name)
    async with informed(server) as (informer, _):
        lister = informer.lister
        assert len(lister) == 2
        assert lister.keys("shop", "app in (web,db)") == [("shop", "a"), ("shop", "b")]
        assert [found.labels for found in lister.snapshots(labels="app=web")] == [{"app": "web"}] * 2
        assert [found.name for found in lister.snapshots_by_index("owner", "u-1")] == ["a", "b"]
        assert lister.snapshots("shop")[0].controller is not None
        assert informer.health.undecodable == 0
        assert lister.list() == []
        assert informer.health.undecodable == 2


@pytest.mark.promise("What the cache keeps", "A long list can be read lazily.")
async def test_a_lazy_list_decodes_each_object_when_its_turn_comes() -> None:
    server = MemoryServer()
    for name in ("a", "b", "c"):
        server.put("shop", name)
    spoil(server, "shop", "b")
    async with informed(server) as (informer, clock):
        found = informer.lister.iterate()
        assert next(found).metadata.name == "a"
        assert informer.health.undecodable == 0
        server.delete("shop", "c")
        await clock.settled()
        assert next(found).metadata.name == "c", "what belongs to the list is decided when it is asked for"
        assert informer.health.undecodable == 1


@pytest.mark.promise("What the cache keeps", "An object is kept as its JSON and a small typed header.")
async def test_snapshot_keeps_only_the_bytes_of_its_object() -> None:
    for streaming in (True, False):
        server = MemoryServer(streaming=streaming)
        for name in ("a", "b"):
            server.put("shop", name)
        async with informed(server) as (informer, _):
            for snapshot in informer.lister.snapshots():
                assert type(snapshot.raw) is bytes
                assert json.loads(snapshot.raw)["metadata"]["name"] == snapshot.name


@pytest.mark.promise("What the cache keeps", "Fields that the model does not know are still there.")
async def test_a_read_carries_the_fields_that_the_model_does_not_know() -> None:
    server = MemoryServer()
    server.put("shop", "a")
    server.objects["shop", "a"]["novelty"] = {"from": "a newer server"}
    async with informed(server) as (informer, _):
        found = informer.lister.get("a", "shop")
        assert found is not None
        assert found.metadata.origin is not None
        assert json.loads(found.metadata.origin.raw)["novelty"] == {"from": "a newer server"}


def test_single_string_is_one_index_value() -> None:
    store = Store[core.ConfigMap]({"zone": lambda found: (found.data or {})["zone"]})
    content = {"metadata": {"name": "a", "namespace": "b"}, "data": {"zone": "north"}}
    store.put(SnapshotDecoder(core.ConfigMap).snapshot(json.dumps(content).encode()))
    assert store.index("zone").as_dict() == {"north": {("b", "a")}}


@pytest.mark.parametrize("answer", [7, [7], ["a", None], b"a"])
def test_index_values_that_are_not_strings_are_logged(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Lookups use strings, so a number would never be found."""
    store = Store[core.ConfigMap]({"size": lambda found: answer})
    store.put(SnapshotDecoder(core.ConfigMap).snapshot(b'{"metadata":{"name":"a","namespace":"b"}}'))
    assert store.index("size").as_dict() == {}
    assert "is not in the index 'size': TypeError: an index function must return strings, not " in caplog.text


@pytest.mark.parametrize("name", ["", "a b", "a\n"])
def test_rejects_index_name_that_is_not_one_word(name: str) -> None:
    with pytest.raises(ValueError, match="the name of an index must be one word without spaces, such as by-owner, not"):
        Store({name: lambda _: None})


def test_the_function_of_an_index_may_read_the_store() -> None:
    """Its first question builds other indexes, while the object is being put: they have the object, too."""
    decoder, store = SnapshotDecoder(core.ConfigMap), Store[core.ConfigMap]()

    def put(name: str, app: str) -> None:
        metadata = {"name": name, "namespace": "n", "labels": {"app": app}}
        store.put(decoder.snapshot(json.dumps({"metadata": metadata}).encode()))

    def twins(found: core.ConfigMap) -> list[str]:
        alike = Selector.parse(f"app={found.metadata.labels['app']}")
        return [str(len(store.select("n", alike)))]

    def write() -> None:
        store.add_index("twins", twins)
        for name, app in (("a", "web"), ("b", "web"), ("b", "db")):
            put(name, app)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(PATIENCE)
    assert not writer.is_alive(), "it waits for a lock that it has itself"
    assert store.index("twins").as_dict() == {"1": {("n", "a"), ("n", "b")}}
    assert store.index("namespace").as_dict() == {"n": {("n", "a"), ("n", "b")}}
    assert [store.select(None, Selector.parse(f"app={app}"))[0].name for app in ("web", "db")] == ["a", "b"]


def test_keys_of_a_namespace_need_no_index() -> None:
    """A cache of one namespace asks for its keys at each list of the server's. The index would hold them all again."""
    decoder, store = SnapshotDecoder(core.ConfigMap), Store[core.ConfigMap]()
    for namespace, name in (("b", "1"), ("a", "2"), ("b", "0")):
        metadata = {"name": name, "namespace": namespace}
        store.put(decoder.snapshot(json.dumps({"metadata": metadata}).encode()))
    assert store.ordered_keys("b") == [("b", "0"), ("b", "1")]
    assert store._all_indexes == ()


@pytest.mark.promise("Reading the cache", "A selector is answered from the smallest index that can.")
def test_selector_uses_the_smallest_index() -> None:
    decoder, store = SnapshotDecoder(core.ConfigMap), Store[core.ConfigMap]()
    for number in range(300):
        labels = {"app": "web", "shard": str(number % 100)}
        metadata = {"name": f"o-{number}", "namespace": f"n-{number % 2}", "labels": labels}
        store.put(decoder.snapshot(json.dumps({"metadata": metadata}).encode()))

    def looked_at(namespace: str | None, selector: str) -> int:
        return len(store._candidates(namespace, Selector.parse(selector)))

    assert looked_at(None, "app=web,shard=7") == 3
    assert looked_at(None, "app=web,shard in (7,8)") == 6
    assert looked_at("n-1", "app=web") == 150
    assert looked_at("n-1", "shard=7") == 3
    assert looked_at(None, "app!=db") == 300
    assert len(store.select("n-1", Selector.parse("app=web,shard=7"))) == 3


@pytest.mark.promise(
    "Reading the cache",
    "There are at most 32 indexes of labels; a label without one is found all the same.",
)
def test_labels_beyond_the_thirty_second_are_found_without_an_index_of_their_own() -> None:
    """An index for every requested label would take more memory than the objects."""
    decoder, store = SnapshotDecoder(core.ConfigMap), Store[core.ConfigMap]()
    for number in range(40):
        metadata = {"name": f"o-{number}", "namespace": "n", "labels": {f"label-{number}": "yes", "all": "yes"}}
        store.put(decoder.snapshot(json.dumps({"metadata": metadata}).encode()))

    def found(selector: str) -> tuple[int, list[str]]:
        parsed = Selector.parse(selector)
        return len(store._candidates(None, parsed)), [snapshot.name for snapshot in store.select(None, parsed)]

    for number in range(32):
        assert found(f"label-{number}=yes") == (1, [f"o-{number}"])
    for number in range(32, 40):
        assert found(f"label-{number}=yes") == (40, [f"o-{number}"]), "found by looking at all of them"
    assert found("label-35=yes,label-3=yes") == (1, []), "the label that has an index still helps"
    store.remove(ObjectKey("n", "o-3"))
    assert found("label-3=yes") == (0, [])


@pytest.mark.promise(
    "The stream from the server",
    "No event makes a task, and nothing else runs between two events that arrive together.",
)
async def test_no_event_makes_a_task() -> None:
    server = MemoryServer()
    made: list[object] = []

    def factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(work)
        return asyncio.Task(work, loop=loop, **options)

    async with informed(server) as (informer, clock):
        changes: list[Change[core.ConfigMap]] = []
        informer.add_handler(changes.append)
        asyncio.get_running_loop().set_task_factory(factory)
        try:
            for number in range(100):
                server.put("shop", f"o-{number}")
            await clock.settled()
        finally:
            asyncio.get_running_loop().set_task_factory(None)
        assert len(changes) == len(informer.lister) == 100
        assert made == []


@pytest.mark.promise(
    "The stream from the server",
    "No event makes a task, and nothing else runs between two events that arrive together.",
)
async def test_events_of_one_piece_are_applied_without_awaiting() -> None:
    server = MemoryServer()
    async with informed(server) as (informer, clock):
        turns: list[int] = []
        turn = 0
        informer.add_handler(lambda change: turns.append(turn))
        for number in range(100):
            server.put("shop", f"o-{number}")
        [watch] = server.watches
        watch._pieces[:] = [b"".join(watch._pieces)]
        while len(turns) < 100 and turn < 1000:
            await asyncio.sleep(0)
            turn += 1
        await clock.settled()
        assert len(turns) == 100
        assert len(set(turns)) == 1, "other tasks ran between two events of one piece"
