import msgspec
import pytest

from kubewright import resource
from kubewright.api import (
    AlreadyOwned,
    Model,
    ObjectMeta,
    OwnerError,
    OwnerReference,
    Resource,
    Untyped,
    add_owner,
    controller_of,
    encode,
    is_controlled_by,
    owner_reference,
    remove_owner,
    set_controller,
)
from kubewright.api.core.v1 import ConfigMap, Namespace, Secret
from kubewright.api.rbac.v1 import ClusterRole


class WebSpec(Model):
    replicas: int = 1


@resource("example.com/v1")
class Web(Resource[WebSpec, None]):
    """A namespaced kind to own with."""


def web(name: str = "shop", uid: str = "uid-1") -> Web:
    return Web(metadata=ObjectMeta(name=name, namespace="apps", uid=uid), spec=WebSpec())


def config(namespace: str = "apps") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="settings", namespace=namespace))


def test_a_reference_names_the_owner() -> None:
    assert msgspec.json.decode(encode(owner_reference(web()))) == {
        "apiVersion": "example.com/v1",
        "kind": "Web",
        "name": "shop",
        "uid": "uid-1",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_a_reference_need_not_control_or_block() -> None:
    assert owner_reference(web(), controller=False, block_owner_deletion=False) == OwnerReference(
        api_version="example.com/v1", kind="Web", name="shop", uid="uid-1"
    )


def test_an_owner_needs_a_uid_and_a_name() -> None:
    with pytest.raises(OwnerError) as caught:
        owner_reference(web(uid=""))
    assert str(caught.value) == (
        "Web apps/shop cannot own anything: it has no metadata.uid. Create it first, or read it from the server"
    )
    with pytest.raises(OwnerError, match=r"it has no metadata\.name"):
        owner_reference(web(name=""))


def test_an_untyped_owner_needs_to_know_its_kind() -> None:
    Foo = Untyped.kind_of("example.com/v1", "Foo", plural="foos")
    foo = Foo(metadata=ObjectMeta(name="a", namespace="shop", uid="u"))
    assert owner_reference(foo).api_version == "example.com/v1"
    foo.kind = ""
    with pytest.raises(OwnerError, match="has no kind"):
        owner_reference(foo)


@pytest.mark.promise("Typed objects", "Owner references.")
def test_set_controller_makes_the_owner_the_controller() -> None:
    owned, owner = config(), web()
    assert controller_of(owned) is None
    assert not is_controlled_by(owned, owner)
    set_controller(owned, owner=owner)
    assert controller_of(owned) == owner_reference(owner)
    assert is_controlled_by(owned, owner)
    assert not is_controlled_by(owned, web(uid="uid-2"))


def test_set_controller_again_updates_the_reference() -> None:
    owned, owner = config(), web()
    set_controller(owned, owner=owner)
    owner.api_version = "example.com/v2"
    set_controller(owned, owner=owner, block_owner_deletion=False)
    assert owned.metadata.owner_references == [owner_reference(owner, block_owner_deletion=False)]


@pytest.mark.promise("Typed objects", "Owner references.")
def test_rejects_second_controller_and_names_it() -> None:
    owned, owner = config(), web()
    set_controller(owned, owner=owner)
    with pytest.raises(AlreadyOwned) as caught:
        set_controller(owned, owner=web("api", "uid-2"))
    assert str(caught.value) == (
        "ConfigMap apps/settings cannot be controlled by Web apps/api (uid uid-2): "
        "Web shop (uid uid-1) controls it already"
    )
    assert caught.value.controller == owner_reference(owner)
    assert is_controlled_by(owned, owner)


def test_a_later_object_of_the_same_name_is_another_owner() -> None:
    owned = config()
    set_controller(owned, owner=web())
    with pytest.raises(AlreadyOwned, match=r"\(uid uid-2\): Web shop \(uid uid-1\) controls it already"):
        set_controller(owned, owner=web(uid="uid-2"))


def test_further_owners_do_not_control() -> None:
    owned, controller, other = config(), web(), web("api", "uid-2")
    add_owner(owned, owner=other)
    set_controller(owned, owner=controller)
    assert [(r.name, r.controller) for r in owned.metadata.owner_references] == [("api", None), ("shop", True)]
    assert is_controlled_by(owned, controller)


def test_adding_the_controller_as_an_owner_leaves_it_the_controller() -> None:
    owned, owner = config(), web()
    set_controller(owned, owner=owner)
    add_owner(owned, owner=owner)
    assert owned.metadata.owner_references == [owner_reference(owner)]


def test_an_owner_can_become_the_controller() -> None:
    owned, owner = config(), web()
    add_owner(owned, owner=owner)
    set_controller(owned, owner=owner)
    assert owned.metadata.owner_references == [owner_reference(owner)]


def test_owners_are_removed_by_uid() -> None:
    owned, owner = config(), web()
    set_controller(owned, owner=owner)
    assert not remove_owner(owned, owner=web(uid="uid-2"))
    assert not remove_owner(owned, owner=web(uid=""))
    assert remove_owner(owned, owner=owner)
    assert owned.metadata.owner_references == []


def test_a_namespaced_owner_owns_only_in_its_namespace() -> None:
    for own in (set_controller, add_owner):
        owned = config("other")
        with pytest.raises(OwnerError) as caught:
            own(owned, owner=web())
        assert str(caught.value) == (
            "Web apps/shop cannot own ConfigMap other/settings: "
            "an owner in a namespace can own only objects in the same one"
        )
        assert owned.metadata.owner_references == []


def test_a_namespaced_owner_cannot_own_a_cluster_scoped_object() -> None:
    with pytest.raises(OwnerError) as caught:
        set_controller(ClusterRole(metadata=ObjectMeta(name="admin")), owner=web())
    assert str(caught.value) == (
        "Web apps/shop cannot own ClusterRole admin: an object in a namespace cannot own one that is cluster-scoped"
    )


def test_the_namespace_has_to_be_set_first() -> None:
    with pytest.raises(OwnerError) as caught:
        set_controller(Secret(metadata=ObjectMeta(name="password")), owner=web())
    assert str(caught.value) == (
        "Web apps/shop cannot own Secret password yet: set its metadata.namespace, to 'apps', first"
    )


def test_a_cluster_scoped_owner_owns_anything() -> None:
    owner = Namespace(metadata=ObjectMeta(name="shop", uid="uid-9"))
    for owned in (config(), ClusterRole(metadata=ObjectMeta(name="admin"))):
        set_controller(owned, owner=owner)
        assert is_controlled_by(owned, owner)
