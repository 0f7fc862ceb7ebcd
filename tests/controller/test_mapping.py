from __future__ import annotations

from typing import Any

import pytest

from kubewright import resource
from kubewright.api import Model, ObjectMeta, OwnerReference, Resource, Untyped, encode, info_of
from kubewright.cache import Change, ObjectKey, Snapshot, SnapshotDecoder
from kubewright.controller import CachedKinds, Watch, owner_keys
from kubewright.controller.registration import key_of_kind, parse_key
from tests.controller.conftest import Part, Thing, ThingSpec, thing


@resource("example.com/v1", scope="Cluster")
class Zone(Resource[ThingSpec, None]):
    """A cluster-scoped owner."""


class Empty(Model):
    pass


def part(*owners: OwnerReference) -> Snapshot[Part]:
    meta = ObjectMeta(name="p", namespace="default", uid="u", resource_version="1", owner_references=list(owners))
    return SnapshotDecoder(Part).snapshot(encode(Part(metadata=meta, spec=ThingSpec())))


def owner(name: str, kind: str = "Thing", api: str = "example.com/v1", controller: bool = True) -> OwnerReference:
    return OwnerReference(api_version=api, kind=kind, name=name, uid=f"uid-{name}", controller=controller)


def added(snapshot: Snapshot[Part]) -> Change[Part]:
    return Change("added", snapshot.key, None, snapshot)


def test_enqueues_the_controller_in_the_namespace_of_the_object() -> None:
    assert owner_keys(added(part(owner("a"))), info_of(Thing)) == {ObjectKey("default", "a")}


@pytest.mark.promise("What wakes a reconciler", "Owned objects wake their owner, known by group and kind.")
def test_matches_an_owner_by_group_and_kind_in_any_version() -> None:
    info = info_of(Thing)
    assert owner_keys(added(part(owner("a", api="example.com/v9"))), info) == {ObjectKey("default", "a")}
    assert not owner_keys(added(part(owner("a", api="example.org/v1"))), info)
    assert not owner_keys(added(part(owner("a", kind="Other"))), info)


@pytest.mark.promise("What wakes a reconciler", "A cluster-scoped owner has no namespace.")
def test_a_cluster_scoped_owner_has_no_namespace() -> None:
    assert owner_keys(added(part(owner("z", kind="Zone"))), info_of(Zone)) == {ObjectKey("", "z")}


@pytest.mark.promise("What wakes a reconciler", "Only the controller is woken, unless all owners are asked for.")
def test_enqueues_only_the_controller_by_default() -> None:
    change = added(part(owner("a"), owner("b", controller=False)))
    assert owner_keys(change, info_of(Thing)) == {ObjectKey("default", "a")}
    assert owner_keys(change, info_of(Thing), controller_only=False) == {
        ObjectKey("default", "a"),
        ObjectKey("default", "b"),
    }


@pytest.mark.promise("What wakes a reconciler", "The owner before a change and the one after it are both woken.")
def test_enqueues_the_former_and_the_current_owner() -> None:
    change = Change("updated", ObjectKey("default", "p"), part(owner("old")), part(owner("new")))
    assert owner_keys(change, info_of(Thing)) == {ObjectKey("default", "old"), ObjectKey("default", "new")}


@pytest.mark.promise("What wakes a reconciler", "The owner before a change and the one after it are both woken.")
def test_a_deleted_object_enqueues_its_owner() -> None:
    change = Change("deleted", ObjectKey("default", "p"), part(owner("a")), None, missed=True)
    assert owner_keys(change, info_of(Thing)) == {ObjectKey("default", "a")}


@pytest.mark.parametrize("given", [ObjectKey("default", "one"), "default/one", ("default", "one"), thing("one")])
def test_a_key_can_be_given_in_several_forms(given: object) -> None:
    assert parse_key(given) == ObjectKey("default", "one")


def test_rejects_a_value_that_is_not_a_key() -> None:
    with pytest.raises(TypeError, match="expected an ObjectKey"):
        parse_key(7)


@pytest.mark.promise("What wakes a reconciler", "A misspelled option fails at once, with the valid names.")
def test_a_misspelled_option_of_watch_names_the_valid_ones() -> None:
    with pytest.raises(
        TypeError,
        match=r"has no option 'maps'\. Did you mean 'map'\? The options are: fields, labels, map, metadata_only,",
    ):
        Watch(Part, maps=lambda part: [])  # type: ignore[call-arg]


@pytest.mark.parametrize("given", [lambda: None, lambda part, reader, more: []])
def test_a_map_function_takes_an_object_and_perhaps_a_reader(given: Any) -> None:
    with pytest.raises(TypeError, match=r"map is a function of an object, or of an object and a Reader; .*<lambda>"):
        Watch(Part, map=given)


def test_rejects_an_async_map_function() -> None:
    async def mapped(part: Part) -> list[ObjectKey]:
        return []

    with pytest.raises(TypeError, match=r"the map function .*mapped is async: make it a plain def"):
        Watch(Part, map=mapped)  # type: ignore[arg-type]


def test_ignores_optional_parameters_of_a_map_function() -> None:
    def mapped(part: Part, *, name: str = "x") -> ObjectKey:
        return ObjectKey("default", name)

    watch = Watch(Part, map=mapped)
    assert watch.map is not None
    assert watch.map(part().object(), CachedKinds()) == ObjectKey("default", "x")


def another_kind(part: Part) -> list[Part] | None:
    return [part]


def test_rejects_a_map_function_annotated_with_another_kind() -> None:
    watch: Any = Watch
    place = r"another_kind \(test_mapping\.py:\d+\)"
    with pytest.raises(
        TypeError, match=rf"^Watch\(Part\): map returns keys of Thing, but {place} .* return Part: return"
    ):
        watch(Part, map=another_kind).waking(info_of(Thing))
    assert watch(Part, map=another_kind).waking(info_of(Part)).reconciled_kind == info_of(Part)


def test_rejects_an_object_of_another_kind_as_key() -> None:
    with pytest.raises(
        TypeError, match=r"^Part default/p is not a Thing, .* Return ObjectKey\(namespace, name\) of the"
    ):
        key_of_kind(info_of(Thing), part().object())


def test_accepts_an_object_of_the_same_kind_in_another_version() -> None:
    old = Untyped.kind_of("example.com/v1alpha1", "Thing", plural="things")
    assert key_of_kind(info_of(Thing), old(metadata=ObjectMeta(name="a", namespace="d"))) == ObjectKey("d", "a")
