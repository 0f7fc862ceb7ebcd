"""`Applier.apply` on both clusters: whose an object is, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubewright.api import OwnerError, core, meta, to_dict
from kubewright.client import MergePatch
from kubewright.cluster import Cluster
from kubewright.controller import Applier, BeingDeleted, NotOwned, Outdated
from kubewright.testing import ControlPlane, RealCluster
from tests.controller.apply_bench import MANAGER, Bench, config_map, open_bench

pytestmark = pytest.mark.clusters


@pytest_asyncio.fixture
async def bench(cluster: Cluster | RealCluster, namespace: str) -> AsyncIterator[Bench]:
    async with open_bench(cluster, namespace) as opened:
        yield opened


@pytest.mark.promise(
    "Owned objects and `apply`",
    "An object of another client is rejected, also if the cache is stale.",
)
async def test_rejects_an_object_of_another_client_that_the_cache_does_not_have(bench: Bench) -> None:
    theirs = await bench.client.create(config_map(theirs="x"))
    with pytest.raises(NotOwned, match=r"exists already and ConfigMap .*/parent does not control it") as raised:
        await bench.applier.apply(bench.owner, config_map(a="1"))
    assert raised.value.existing.metadata.uid == theirs.metadata.uid
    assert raised.value.controller is None
    live = await bench.live(core.ConfigMap, "child")
    assert live.metadata.resource_version == theirs.metadata.resource_version


async def test_rejects_an_object_of_another_client_that_the_cache_has(bench: Bench) -> None:
    await bench.client.create(config_map(theirs="x"))
    await bench.look(core.ConfigMap, "child")
    with pytest.raises(NotOwned, match="adopt=True"):
        await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == ["get configmaps"]


@pytest.mark.promise(
    "Owned objects and `apply`",
    "Adoption happens only when asked for, and never from another controller.",
)
async def test_adopts_an_object_and_keeps_fields_of_others(bench: Bench) -> None:
    await bench.client.create(config_map(theirs="x", a="theirs"))
    applied = await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)
    assert applied.written
    assert applied.object.data == {"a": "1", "theirs": "x"}
    assert applied.object.metadata.owner_references[0].uid == bench.owner.metadata.uid
    bench.sent()
    await bench.applier.apply(bench.owner, config_map(a="1"))
    assert bench.sent() == []


@pytest.mark.promise(
    "Owned objects and `apply`",
    "Adoption happens only when asked for, and never from another controller.",
)
async def test_an_object_that_another_one_controls_is_refused_also_when_adoption_is_asked_for(bench: Bench) -> None:
    rival = await bench.client.create(config_map("rival"))
    await bench.applier.apply(rival, config_map(a="1"))
    with pytest.raises(NotOwned, match=r"ConfigMap rival \(uid .*\) controls it") as raised:
        await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)
    assert raised.value.controller is not None
    assert raised.value.controller.uid == rival.metadata.uid


async def test_an_object_of_an_earlier_owner_of_the_same_name_is_refused(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    again = core.ConfigMap(metadata=meta.ObjectMeta(name="parent", namespace=bench.namespace, uid="another"))
    with pytest.raises(NotOwned, match="belongs to an earlier ConfigMap parent"):
        await bench.applier.apply(again, config_map(a="1"), adopt=True)


async def test_our_own_object_is_applied_although_the_cache_does_not_know_it(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    bench.mirror.snapshots.clear()
    applied = await bench.applier.apply(bench.owner, config_map(a="2"))
    assert applied.object.data == {"a": "2"}


async def test_one_of_two_concurrent_adoptions_is_outdated(bench: Bench, control_plane: ControlPlane) -> None:
    theirs = await bench.client.create(config_map(theirs="x"))
    path = f"/api/v1/namespaces/{bench.namespace}/configmaps/child"
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "rival", "uid": "rival", "controller": True}
    claimed = to_dict(theirs)
    claimed["metadata"]["ownerReferences"] = [reference]
    await bench.look(core.ConfigMap, "child")
    bench.before("patch", lambda: control_plane.request("PUT", path, claimed))
    with pytest.raises(Outdated, match="has changed since it was read; reconcile again"):
        await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)
    with pytest.raises(NotOwned, match="rival"):
        await bench.applier.apply(bench.owner, config_map(a="1"), adopt=True)


@pytest.mark.promise(
    "Owned objects and `apply`",
    "An object of another client is rejected, also if the cache is stale.",
)
async def test_an_object_that_was_given_to_another_controller_is_refused_although_the_cache_is_behind(
    bench: Bench,
) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    rival = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "rival", "uid": "rival", "controller": True}]
    await bench.client.patch(core.ConfigMap, "child", MergePatch({"metadata": {"ownerReferences": rival}}))
    with pytest.raises(NotOwned, match="rival"):
        await bench.applier.apply(bench.owner, config_map(a="2"))
    assert (await bench.live(core.ConfigMap, "child")).data == {"a": "1"}


async def test_an_object_that_is_gone_although_the_cache_has_it_is_for_the_next_reconcile(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.delete(core.ConfigMap, "child")
    with pytest.raises(Outdated, match="reconcile again"):
        await bench.applier.apply(bench.owner, config_map(a="2"))
    await bench.look(core.ConfigMap, "child")
    assert (await bench.applier.apply(bench.owner, config_map(a="2"))).object.data == {"a": "2"}


@pytest.mark.promise(
    "Owned objects and `apply`",
    "An object of another client is rejected, also if the cache is stale.",
)
async def test_does_not_write_an_object_that_another_client_recreated(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, config_map(a="0"))
    await bench.applier.apply(bench.owner, config_map(a="1"))
    await bench.client.delete(core.ConfigMap, "child")
    await bench.client.create(config_map(theirs="x"))
    with pytest.raises(Outdated, match="deleted and recreated"):
        await bench.applier.apply(bench.owner, config_map(a="2"))
    assert (await bench.live(core.ConfigMap, "child")).data == {"theirs": "x"}
    await bench.look(core.ConfigMap, "child")
    with pytest.raises(NotOwned):
        await bench.applier.apply(bench.owner, config_map(a="2"))


@pytest.mark.parametrize("seen", [True, False], ids=["seen by the cache", "and the cache is behind"])
async def test_an_object_in_deletion_is_left_to_go(bench: Bench, seen: bool) -> None:
    asked = config_map(a="1")
    asked.metadata.finalizers = ["example.com/wait"]
    await bench.applier.apply(bench.owner, asked)
    await bench.client.delete(core.ConfigMap, "child")
    if seen:
        await bench.look(core.ConfigMap, "child")
    with pytest.raises(BeingDeleted, match=r"waits for its finalizers \(example.com/wait\)") as raised:
        asked.data = {"a": "2"}
        await bench.applier.apply(bench.owner, asked)
    assert raised.value.existing.metadata.deletion_timestamp is not None
    if seen:
        assert bench.sent() == []


async def test_an_object_in_deletion_that_the_cache_does_not_know_is_left_to_go(bench: Bench) -> None:
    asked = config_map(a="1")
    asked.metadata.finalizers = ["example.com/wait"]
    await bench.applier.apply(bench.owner, asked)
    await bench.client.delete(core.ConfigMap, "child")
    bench.mirror.snapshots.clear()
    with pytest.raises(BeingDeleted):
        await bench.applier.apply(bench.owner, asked)


# Without an owner


async def test_without_an_owner_applied_objects_stay_ours_after_a_restart(bench: Bench) -> None:
    applied = await bench.applier.apply(None, config_map(a="1"))
    assert applied.object.metadata.owner_references == []
    bench.applier = Applier(bench.client, bench.mirror, field_manager=MANAGER)
    assert (await bench.applier.apply(None, config_map(a="2"))).object.data == {"a": "2"}


async def test_without_an_owner_objects_of_other_clients_need_adoption(bench: Bench) -> None:
    await bench.client.create(config_map(theirs="x"))
    with pytest.raises(NotOwned, match="this operator has not applied it before"):
        await bench.applier.apply(None, config_map(a="1"))
    applied = await bench.applier.apply(None, config_map(a="1"), adopt=True)
    assert applied.object.data == {"a": "1", "theirs": "x"}


# What cannot be applied


async def test_an_owner_cannot_own_in_another_namespace(bench: Bench) -> None:
    with pytest.raises(OwnerError, match="only objects in the same one"):
        await bench.applier.apply(bench.owner, config_map(namespace="default", a="1"))
    with pytest.raises(OwnerError, match="cannot own one that is cluster-scoped"):
        await bench.applier.apply(bench.owner, core.Namespace(metadata=meta.ObjectMeta(name="cluster-scoped")))
    assert bench.sent() == []


async def test_a_cluster_scoped_owner_can_own_in_any_namespace(bench: Bench) -> None:
    owner = await bench.client.get(core.Namespace, bench.namespace)
    applied = await bench.applier.apply(owner, config_map(namespace=bench.namespace, a="1"))
    assert applied.object.metadata.owner_references[0].kind == "Namespace"


async def test_an_object_that_was_read_is_refused_since_it_holds_what_others_set(bench: Bench) -> None:
    read = (await bench.applier.apply(bench.owner, config_map(a="1"))).object
    with pytest.raises(ValueError, match="apply a new object with just the fields that you want"):
        await bench.applier.apply(bench.owner, read)


async def test_an_object_without_a_name_is_refused(bench: Bench) -> None:
    with pytest.raises(ValueError, match=r"metadata\.name is required"):
        await bench.applier.apply(bench.owner, core.ConfigMap(metadata=meta.ObjectMeta(generate_name="child-")))
