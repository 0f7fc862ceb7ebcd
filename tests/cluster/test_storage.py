"""Storage: revisions, history, compaction, subscribers."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.cluster.storage import Compacted, Entry, Event, RevisionConflict, Storage

KIND = "/configmaps"


def obj(name: str, namespace: str = "a", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, **more}


def names(storage: Storage, namespace: str = "", **options: Any) -> list[str]:
    return [entry.key for entry in storage.entries(KIND, namespace, **options)]


class Ear:
    """A subscriber that records events."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, int]] = []

    def offer(self, event: Event) -> None:
        self.heard.append((event.kind, event.entry.key, event.revision))


@pytest.mark.promise("The embedded cluster", "Each write has its own revision and checks the expected one.")
def test_each_write_has_its_own_revision() -> None:
    storage = Storage()
    one = storage.put(KIND, obj("x"), None)
    two = storage.put("/secrets", obj("x"), None)
    three = storage.put(KIND, obj("x", data={"k": "v"}), one)
    assert (one.revision, two.revision, three.revision) == (2, 3, 4)
    assert three.decode() == {
        "metadata": {"name": "x", "namespace": "a", "resourceVersion": "4"},
        "data": {"k": "v"},
    }
    assert storage.delete(KIND, obj("x"), three).revision == storage.revision == 5
    assert storage.get(KIND, "a", "x") is None


@pytest.mark.promise("The embedded cluster", "Each write has its own revision and checks the expected one.")
def test_rejects_write_on_unexpected_entry() -> None:
    storage = Storage()
    one = storage.put(KIND, obj("x"), None)
    with pytest.raises(RevisionConflict):
        storage.put(KIND, obj("x"), None)
    two = storage.put(KIND, obj("x"), one)
    with pytest.raises(RevisionConflict):
        storage.put(KIND, obj("x"), one)
    with pytest.raises(RevisionConflict):
        storage.delete(KIND, obj("x"), one)
    assert storage.get(KIND, "a", "x") is two
    assert storage.revision == 3


def test_lists_are_sorted_by_key_as_in_etcd() -> None:
    storage = Storage()
    for namespace, name in [("b", "x"), ("a", "z"), ("a-b", "x"), ("a", "b"), ("a", "b-c"), ("a", "b.c")]:
        storage.put(KIND, obj(name, namespace), None)
    assert names(storage) == ["a-b/x", "a/b", "a/b-c", "a/b.c", "a/z", "b/x"]
    assert names(storage, "a") == ["a/b", "a/b-c", "a/b.c", "a/z"]
    assert names(storage, "a", after="a/b-c") == ["a/b.c", "a/z"]
    assert names(storage, after="a/z") == ["b/x"]


@pytest.mark.promise("The embedded cluster", "A list at a past revision shows the objects of that revision.")
def test_lists_objects_at_a_past_revision() -> None:
    storage = Storage()
    first = storage.put(KIND, obj("a", data="old"), None)
    gone = storage.put(KIND, obj("b"), None)
    then = storage.revision
    storage.put(KIND, obj("a", data="new"), first)
    storage.delete(KIND, obj("b"), gone)
    storage.put(KIND, obj("c"), None)
    assert [(entry.key, entry.decode().get("data")) for entry in storage.entries(KIND, revision=then)] == [
        ("a/a", "old"),
        ("a/b", None),
    ]
    assert names(storage, revision=1) == []
    assert names(storage) == ["a/a", "a/c"]


def test_compaction_removes_only_history() -> None:
    storage = Storage()
    first = storage.put(KIND, obj("a"), None)
    storage.put(KIND, obj("a", data=1), first)
    assert storage.compact() == 3
    with pytest.raises(Compacted) as error:
        storage.events(KIND, 2)
    assert (error.value.revision, error.value.oldest) == (2, 3)
    with pytest.raises(Compacted):
        list(storage.entries(KIND, revision=2))
    assert storage.events(KIND, 3) == []
    assert names(storage, revision=3) == ["a/a"]


@pytest.mark.promise("The embedded cluster", "History is bounded; requests for compacted revisions get 410.")
def test_history_is_bounded_in_writes() -> None:
    storage = Storage(history=10)
    entry: Entry | None = None
    for number in range(100):
        entry = storage.put(KIND, obj("a", data=number), entry)
        storage.put("/secrets", obj(f"s{number}"), None)
    assert len(storage.events(KIND, storage.compacted)) == 5
    assert len(storage.events("/secrets", storage.compacted)) == 5
    assert storage.compacted == storage.revision - 10


def test_notifies_subscribers_in_scope_and_in_order() -> None:
    storage = Storage()
    everything, one_namespace, one_name, anywhere = Ear(), Ear(), Ear(), Ear()
    storage.subscribe(KIND, everything)
    storage.subscribe(KIND, one_namespace, "a")
    storage.subscribe(KIND, one_name, "a", "x")
    storage.subscribe(KIND, anywhere, "", "x")
    made = storage.put(KIND, obj("x"), None)
    storage.put(KIND, obj("y"), None)
    storage.put(KIND, obj("x", "b"), None)
    storage.put("/secrets", obj("x"), None)
    storage.delete(KIND, obj("x"), made)
    assert everything.heard == [("ADDED", "a/x", 2), ("ADDED", "a/y", 3), ("ADDED", "b/x", 4), ("DELETED", "a/x", 6)]
    assert one_namespace.heard == [("ADDED", "a/x", 2), ("ADDED", "a/y", 3), ("DELETED", "a/x", 6)]
    assert one_name.heard == [("ADDED", "a/x", 2), ("DELETED", "a/x", 6)]
    assert anywhere.heard == [("ADDED", "a/x", 2), ("ADDED", "b/x", 4), ("DELETED", "a/x", 6)]
    for ear, place in ((everything, ()), (one_namespace, ("a",)), (one_name, ("a", "x")), (anywhere, ("", "x"))):
        storage.unsubscribe(KIND, ear, *place)
        storage.unsubscribe(KIND, ear, *place)
    storage.put(KIND, obj("z"), None)
    assert len(everything.heard) == 4


@pytest.mark.promise(
    "The embedded cluster",
    "A write costs nothing for watches of other scopes, and is encoded once for all others.",
)
def test_subscriber_is_not_asked_about_other_scopes() -> None:
    storage = Storage()
    ears = [Ear() for _ in range(1_000)]
    for number, ear in enumerate(ears):
        storage.subscribe(KIND, ear, f"n{number}")
    storage.put(KIND, obj("x", "n7"), None)
    assert [number for number, ear in enumerate(ears) if ear.heard] == [7]


def test_history_is_bounded_in_bytes() -> None:
    storage = Storage(history_bytes=10_000)
    found = storage.put("/configmaps", {"metadata": {"name": "a"}}, None)
    for _ in range(10):
        found = storage.put("/configmaps", {"metadata": {"name": "a"}, "data": {"text": "x" * 3_000}}, found)
    assert len(storage.events("/configmaps", storage.compacted)) == 3
    with pytest.raises(Compacted):
        storage.events("/configmaps", storage.compacted - 1)
