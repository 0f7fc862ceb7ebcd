"""Ownership trees."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubewright.api import Untyped
from kubewright.cache import ObjectKey, Snapshot, SnapshotDecoder
from kubewright.console.kinds import Kind
from kubewright.console.objects import Health, Node, State, child_kinds, decode_object, health_of, owned_tree
from kubewright.observe import KindName


def kind(path: str, name: str, *, custom: bool = False, namespaced: bool = True) -> Kind:
    group, _, plural = path.rpartition("/")
    group = "" if group == "core" else group
    version = f"{group}/v1" if group else "v1"
    return Kind(
        group=group,
        version="v1",
        kind=name,
        plural=plural,
        singular=name.lower(),
        namespaced=namespaced,
        resource=Untyped.kind_of(version, name, plural=plural, namespaced=namespaced),
        crd={} if custom else None,
    )


FOOS = kind("example.com/foos", "Foo", custom=True)
BARS = kind("example.com/bars", "Bar", custom=True)
QUXES = kind("other.org/quxes", "Qux", custom=True)
DEPLOYMENTS = kind("apps/deployments", "Deployment")
REPLICA_SETS = kind("apps/replicasets", "ReplicaSet")
PODS = kind("core/pods", "Pod")
CONFIG_MAPS = kind("core/configmaps", "ConfigMap")
SECRETS = kind("core/secrets", "Secret")
EVERY = [FOOS, BARS, QUXES, DEPLOYMENTS, REPLICA_SETS, PODS, CONFIG_MAPS, SECRETS]


class ObjectCache:
    """A cache with the objects of the test."""

    def __init__(self, kind: Kind, *objects: Snapshot[Any]) -> None:
        self.kind = kind
        self.objects = objects

    def owned_by(self, uid: str) -> list[Snapshot[Any]]:
        return [one for one in self.objects if any(owner.uid == uid for owner in one.owners)]

    def state(self, snapshot: Snapshot[Any], *, show_error: bool = False) -> Health:
        return health_of(self.kind, decode_object(snapshot.raw))


def thing(kind: Kind, name: str, owner: str, namespace: str = "default", **content: Any) -> Snapshot[Any]:
    reference = {"apiVersion": "v1", "kind": "Any", "name": owner, "uid": f"uid-{owner}"}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "ownerReferences": [reference]}
    raw = msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **content})
    return SnapshotDecoder(kind.resource).snapshot(raw)


def allow_all(kind: Kind, key: ObjectKey) -> bool:
    return True


def names(children: tuple[Node, ...]) -> Any:
    return {node.key.name: names(node.children) for node in children}


ONE = ObjectKey("default", "one")


def test_tree_contains_owned_objects_with_health() -> None:
    caches = [
        ObjectCache(
            DEPLOYMENTS, thing(DEPLOYMENTS, "web", "one", spec={"replicas": 1}, status={"availableReplicas": 1})
        ),
        ObjectCache(REPLICA_SETS, thing(REPLICA_SETS, "web-1", "web")),
        ObjectCache(
            PODS,
            thing(PODS, "web-1-b", "web-1", status={"phase": "Failed"}),
            thing(PODS, "web-1-a", "web-1", status={"phase": "Running"}),
            thing(PODS, "stranger", "two"),
        ),
        ObjectCache(CONFIG_MAPS, thing(CONFIG_MAPS, "settings", "one")),
    ]
    tree = owned_tree(ONE, "uid-one", caches, allow_all)
    assert names(tree.children) == {"web": {"web-1": {"web-1-a": {}, "web-1-b": {}}}, "settings": {}}
    states = {node.key.name: node.health.state for node in tree.walk()}
    assert states["web"] is states["web-1-a"] is states["settings"] is State.READY
    assert states["web-1-b"] is State.FAILING
    assert not tree.truncated


def test_hides_invisible_objects_and_their_dependents() -> None:
    caches = [
        ObjectCache(DEPLOYMENTS, thing(DEPLOYMENTS, "web", "one")),
        ObjectCache(REPLICA_SETS, thing(REPLICA_SETS, "web-1", "web")),
    ]
    assert names(owned_tree(ONE, "uid-one", caches, lambda kind, key: kind != REPLICA_SETS).children) == {"web": {}}
    assert names(owned_tree(ONE, "uid-one", caches, lambda kind, key: kind != DEPLOYMENTS).children) == {}


def test_ignores_owner_in_other_namespace_unless_cluster_scoped() -> None:
    cache = ObjectCache(CONFIG_MAPS, thing(CONFIG_MAPS, "here", "one"), thing(CONFIG_MAPS, "there", "one", "other"))
    assert names(owned_tree(ONE, "uid-one", [cache], allow_all).children) == {"here": {}}
    assert names(owned_tree(ObjectKey("", "one"), "uid-one", [cache], allow_all).children) == {"here": {}, "there": {}}


@pytest.mark.promise("Objects and operators in the console", "Hostile owner references cannot cause an endless tree.")
def test_cuts_reference_cycles() -> None:
    cache = ObjectCache(
        CONFIG_MAPS, thing(CONFIG_MAPS, "a", "b"), thing(CONFIG_MAPS, "b", "a"), thing(CONFIG_MAPS, "s", "s")
    )
    assert names(owned_tree(ObjectKey("default", "a"), "uid-a", [cache], allow_all).children) == {"b": {}}
    assert names(owned_tree(ObjectKey("default", "s"), "uid-s", [cache], allow_all).children) == {}


@pytest.mark.promise("Objects and operators in the console", "Hostile owner references cannot cause an endless tree.")
def test_bounds_the_tree() -> None:
    many = ObjectCache(PODS, *(thing(PODS, f"p{number}", "one") for number in range(800)))
    tree = owned_tree(ONE, "uid-one", [many], allow_all)
    assert (len([*tree.walk()]), tree.truncated) == (500, True)
    deep = ObjectCache(PODS, *(thing(PODS, f"p{number + 1}", f"p{number}") for number in range(100)))
    tree = owned_tree(ObjectKey("default", "p0"), "uid-p0", [deep], allow_all)
    assert (len([*tree.walk()]), tree.truncated) == (12, True)


@pytest.mark.parametrize("raw", [b'{"metadata":{"name":"a","namespace":"default","uid":"u"},"status":7,"spec":[]}'])
def test_malformed_object_has_a_state(raw: bytes) -> None:
    snapshot = SnapshotDecoder(PODS.resource).snapshot(raw)
    cache = ObjectCache(PODS)
    cache.owned_by = lambda uid: [snapshot] if uid == "uid-one" else []  # type: ignore[method-assign]
    [node] = owned_tree(ONE, "uid-one", [cache], allow_all).children
    assert node.health.state in State


def test_searches_owned_kinds_and_their_dependents() -> None:
    owned = [KindName(group="apps", version="v1", kind="Deployment", plural="deployments")]
    assert [one.path for one in child_kinds(FOOS, EVERY, owned)] == [
        "apps/deployments",
        "apps/replicasets",
        "core/pods",
    ]


def test_searches_usual_kinds_except_secrets_by_default() -> None:
    found = [one.path for one in child_kinds(FOOS, EVERY, [])]
    assert "core/secrets" not in found
    assert {"apps/deployments", "apps/replicasets", "core/pods", "core/configmaps"} <= {*found}
    assert found.index("example.com/bars") < found.index("other.org/quxes")
    assert FOOS.path not in found
    assert [one.path for one in child_kinds(DEPLOYMENTS, EVERY, [])] == ["apps/replicasets", "core/pods"]


def test_searches_secrets_if_an_operator_owns_them() -> None:
    owned = [KindName(group="", version="v1", kind="Secret", plural="secrets")]
    assert [one.path for one in child_kinds(FOOS, EVERY, owned)] == ["core/secrets"]
