"""Rewinding to a snapshot, and the history of objects."""

from __future__ import annotations

import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, OwnerReference, core
from kubewright.cache import Informer
from kubewright.client import ApiError, Client, Expired, MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.cluster.laboratory import Change, Laboratory
from kubewright.crd import install
from tests.cluster.laboratory.conftest import Watching, config_map
from tests.patience import PATIENCE, until


class BulbSpec(kw.Model):
    watts: int = 0


@kw.resource("laboratory.example.com/v1")
class Bulb(kw.Resource[BulbSpec, None]):
    """A kind that is defined and removed."""


def bulb(name: str) -> Bulb:
    return Bulb(metadata=ObjectMeta(name=name, namespace="default"), spec=BulbSpec(watts=40))


async def everything(client: Client) -> dict[str, tuple[str, str, object]]:
    listed = await client.list(core.ConfigMap, "default")
    return {obj.metadata.name: (obj.metadata.uid, obj.metadata.resource_version, obj.data) for obj in listed}


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "A rewind restores objects exactly; revisions continue, open watches end with 410, and caches follow.",
)
async def test_rewind_restores_objects_and_continues_revisions(lab: Laboratory, client: Client) -> None:
    await client.create(config_map("stays", k="1"))
    await client.create(config_map("changes", k="1"))
    await client.create(config_map("goes", k="1"))
    before, snapshot = await everything(client), lab.snapshot()
    for _ in range(2):
        await client.patch(core.ConfigMap, "changes", MergePatch({"data": {"k": "2"}}), "default")
        await client.delete(core.ConfigMap, "goes", "default")
        await client.create(config_map("comes"))
        newest = lab.revision
        assert lab.rewind(snapshot) == newest + 1
        assert await everything(client) == before
        made = await client.create(config_map("after"))
        assert int(made.metadata.resource_version) > newest
        await client.delete(core.ConfigMap, "after", "default")
    assert snapshot.revision < lab.revision


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "A rewind restores objects exactly; revisions continue, open watches end with 410, and caches follow.",
)
async def test_rewind_ends_watches_with_410(lab: Laboratory, client: Client) -> None:
    snapshot = lab.snapshot()
    made = await client.create(config_map("a"))
    watching = Watching(client, resource_version=str(snapshot.revision))
    assert await watching.take() == [("ADDED", "a")]
    watching.begin()
    lab.rewind(snapshot)
    with pytest.raises(Expired, match="too old resource version"):
        await watching.take()
    for known in (snapshot.revision, int(made.metadata.resource_version)):
        late = Watching(client, resource_version=str(known))
        with pytest.raises(Expired, match="too old resource version"):
            await late.take()


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "A rewind restores objects exactly; revisions continue, open watches end with 410, and caches follow.",
)
async def test_cache_follows_a_rewind(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    await client.create(config_map("a", k="1"))
    snapshot = lab.snapshot()
    async with Informer(client, core.ConfigMap, namespaces=["default"]) as informer:
        await informer.wait_for_sync(PATIENCE)
        await client.patch(core.ConfigMap, "a", MergePatch({"data": {"k": "2"}}), "default")
        await client.create(config_map("b"))
        await until(lambda: _shows(informer, a={"k": "2"}, b={}))
        lab.rewind(snapshot)
        await until(lambda: _shows(informer, a={"k": "1"}))
        await client.create(config_map("c"))
        await until(lambda: _shows(informer, a={"k": "1"}, c={}))


async def _shows(informer: Informer[core.ConfigMap], **wanted: dict[str, str]) -> bool:
    found = {obj.metadata.name: obj.data or {} for obj in informer.lister.list("default")}
    found.pop("kube-root-ca.crt", None)
    return found == wanted


async def test_rewind_restores_served_kinds(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    nothing = lab.snapshot()
    await install(client, Bulb)
    await client.create(bulb("one"))
    lit = lab.snapshot()
    lab.rewind(nothing)
    with pytest.raises(ApiError, match="404"):
        await client.request("GET", "/apis/laboratory.example.com/v1/bulbs")
    lab.rewind(lit)
    assert [found.metadata.name for found in await client.list(Bulb)] == ["one"]
    await client.create(bulb("two"))


async def test_rewind_restores_garbage_collection(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    owner = await client.create(config_map("owner"))
    owned = config_map("owned")
    reference = OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)
    owned.metadata.owner_references = [reference]
    await client.create(owned)
    snapshot = lab.snapshot()
    for _ in range(2):
        await client.delete(core.ConfigMap, "owner", "default")
        await cluster.settled()
        assert await client.find(core.ConfigMap, "owned", "default") is None
        lab.rewind(snapshot)
        await cluster.settled()
        assert await client.find(core.ConfigMap, "owned", "default") is not None


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "Each revision of an object has its time, user, verb and changes.",
)
async def test_history_has_time_user_and_changes() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, controllers=False) as cluster:
        lab = cluster.lab
        client = cluster.client()
        jane = cluster.client(user=User("jane", ("system:masters",)), field_manager="janes-tool")
        began = clock.now()
        await client.create(config_map("a", k="1"))
        await clock.advance(60)
        await jane.patch(core.ConfigMap, "a", MergePatch({"data": {"k": "2", "n": "3"}}), "default")
        await client.create(config_map("b"))
        await jane.apply(config_map("a", k="2"), force=True)
        await client.delete(core.ConfigMap, "a", "default")
        await client.create(config_map("a"))
        history = lab.history(core.ConfigMap, "a", "default")
    assert [(one.type, one.verb, one.user, one.manager) for one in history] == [
        ("ADDED", "create", "kubewright-admin", "kubewright"),
        ("MODIFIED", "patch", "jane", "janes-tool"),
        ("MODIFIED", "apply", "jane", "janes-tool"),
        ("DELETED", "delete", "kubewright-admin", ""),
        ("ADDED", "create", "kubewright-admin", "kubewright"),
    ]
    assert [(one.time - began).total_seconds() for one in history] == [0, 60, 60, 60, 60]
    assert [one.revision for one in history] == sorted({one.revision for one in history})
    assert history[1].changes == (Change("/data/k", "1", "2"), Change("/data/n", None, "3"))
    assert history[2].changes == (), "the fields have another manager; nothing else changed"
    assert Change("/data", {"k": "2", "n": "3"}, None) in history[3].changes
    assert history[1].object["data"] == {"k": "2", "n": "3"}


async def test_own_writes_of_the_cluster_have_the_user_of_their_controller(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    owner = await client.create(config_map("owner"))
    owned = config_map("owned")
    owned.metadata.owner_references = [
        OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)
    ]
    await client.create(owned)
    await client.delete(core.ConfigMap, "owner", "default")
    await cluster.settled()
    assert [(one.type, one.verb, one.user) for one in lab.history(core.ConfigMap, "owned", "default")] == [
        ("ADDED", "create", "kubewright-admin"),
        ("DELETED", "delete", "system:serviceaccount:kube-system:generic-garbage-collector"),
    ]


async def test_history_redacts_secrets(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    place = ObjectMeta(name="s", namespace="default")
    await client.create(core.Secret(metadata=place, data={"password": b"hunter2"}))
    await client.patch(core.Secret, "s", MergePatch({"stringData": {"password": "hunter3"}}), "default")
    history = lab.history(core.Secret, "s", "default")
    assert history[1].changes == (Change("/data/password", "(hidden)", "(hidden)"),)
    assert "aHVudGVy" not in repr(history)
