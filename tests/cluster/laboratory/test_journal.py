"""The journal: every write and every request in order, with its author."""

from __future__ import annotations

import logging

import msgspec
import pytest

from kubewright.api import apps, core, meta
from kubewright.api.meta import OwnerReference
from kubewright.client import ApiError, MergePatch, NotFound
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.cluster.laboratory import JournalEntry, Laboratory
from tests.cluster.laboratory.conftest import ONCE, config_map

JANE = User("jane", ("system:masters",))


def brief(entry: JournalEntry) -> tuple[object, ...]:
    return entry.user, entry.verb, entry.resource, entry.name, entry.type, entry.status


@pytest.mark.promise(
    "The laboratory of the embedded cluster",
    "The journal lists every write and every request in order, with user, client, status and objects.",
)
async def test_lists_requests_and_writes_in_order() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1, controllers=False) as cluster:
        lab, began = cluster.lab, clock.now()
        jane = cluster.client(user=JANE, retry=ONCE, field_manager="tool", user_agent="janes-tool/1")
        await jane.create(config_map("a", k="1"))
        await clock.advance(60)
        await jane.apply(config_map("a", k="1"), force=True)
        await jane.patch(core.ConfigMap, "a", MergePatch({"data": {"k": "2"}}), "default")
        await jane.create(config_map("b"), dry_run=True)
        await jane.get(core.ConfigMap, "a", "default")
        with pytest.raises(NotFound):
            await jane.delete(core.ConfigMap, "missing", "default")
        await jane.delete(core.ConfigMap, "a", "default")
        journal = lab.journal
    assert [brief(entry)[1:] for entry in journal] == [
        ("create", "configmaps", "a", "ADDED", 201),
        ("apply", "configmaps", "a", "MODIFIED", 200),
        ("patch", "configmaps", "a", "MODIFIED", 200),
        ("create", "configmaps", "b", "", 201),
        ("get", "configmaps", "a", "", 200),
        ("delete", "configmaps", "missing", "", 404),
        ("delete", "configmaps", "a", "DELETED", 200),
    ]
    assert [entry.number for entry in journal] == [entry.request for entry in journal] == [1, 2, 3, 4, 5, 6, 7]
    assert {(entry.user, entry.client, entry.namespace) for entry in journal} == {("jane", "janes-tool/1", "default")}
    assert [(entry.time - began).total_seconds() for entry in journal][:2] == [0, 60]
    assert [entry.dry_run for entry in journal] == [False, False, False, True, False, False, False]
    revisions = [entry.revision for entry in journal if entry.wrote]
    assert revisions == list(range(revisions[0], revisions[0] + 4))
    changed = journal[2]
    assert changed.before is not None
    assert changed.after is not None
    assert (changed.before["data"], changed.after["data"]) == ({"k": "1"}, {"k": "2"})
    assert changed.after["metadata"]["resourceVersion"] == str(changed.revision)
    assert (journal[0].before, journal[-1].after) == (None, None)
    assert journal[0].manager == "tool"


async def test_names_the_controller_of_own_writes(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    await client.create(core.Namespace(metadata=meta.ObjectMeta(name="fresh")))
    owner = await client.create(config_map("owner"))
    owned = config_map("owned")
    reference = OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)
    owned.metadata.owner_references = [reference]
    await client.create(owned)
    await client.delete(core.ConfigMap, "owner", "default")
    await cluster.settled()
    own = [entry for entry in lab.journal if entry.request == 0 and entry.user != "kubewright-admin"]
    accounts = "system:serviceaccount:kube-system"
    assert {brief(entry) for entry in own} >= {
        (f"{accounts}:service-account-controller", "create", "serviceaccounts", "default", "ADDED", 0),
        (f"{accounts}:generic-garbage-collector", "delete", "configmaps", "owned", "DELETED", 0),
    }


async def test_names_the_controllers_of_workloads() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1, workloads=True) as cluster:
        lab = cluster.lab
        labels = {"app": "web"}
        template = core.PodTemplateSpec(
            metadata=meta.ObjectMeta(labels=labels),
            spec=core.PodSpec(containers=[core.Container(name="web", image="web")]),
        )
        spec = apps.DeploymentSpec(selector=meta.LabelSelector(match_labels=labels), template=template)
        await cluster.client().create(
            apps.Deployment(metadata=meta.ObjectMeta(name="web", namespace="default"), spec=spec)
        )
        await cluster.settled()
        users = {entry.user for entry in lab.journal if entry.resource in ("replicasets.apps", "pods") and entry.wrote}
    assert users == {"system:kube-controller-manager"}


async def test_attributes_expired_events_to_the_server() -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock, seed=1) as cluster:
        lab = cluster.lab
        place = meta.ObjectMeta(name="e", namespace="default")
        about = core.ObjectReference(kind="ConfigMap", name="a", namespace="default")
        await cluster.client().create(core.Event(metadata=place, involved_object=about))
        await clock.advance(2 * 3600)
        deleted = [entry for entry in lab.journal if entry.type == "DELETED"]
    assert [brief(entry) for entry in deleted] == [("system:apiserver", "delete", "events", "e", "DELETED", 0)]


async def test_lists_each_object_of_a_deleted_collection(cluster: Cluster, lab: Laboratory) -> None:
    client = cluster.client()
    await client.create(config_map("a"))
    await client.create(config_map("b"))
    await client.delete_collection(core.ConfigMap, "default")
    deleted = [entry for entry in lab.journal if entry.verb == "deletecollection"]
    assert {entry.name for entry in deleted} >= {"a", "b"}
    assert len({entry.request for entry in deleted}) == 1


@pytest.mark.parametrize("committed", [False, True])
async def test_has_the_status_that_the_client_received(cluster: Cluster, lab: Laboratory, committed: bool) -> None:
    client = cluster.client(retry=ONCE)
    lab.fail(status=503, committed=committed)
    lab.fail(status="lost", committed=committed, nth=2)
    for name in ("a", "b"):
        with pytest.raises(ApiError):
            await client.create(config_map(name))
    entries = [entry for entry in lab.journal if entry.name in ("a", "b")]
    assert [(entry.name, entry.status, entry.wrote) for entry in entries] == [
        ("a", 503, committed),
        ("b", 0, committed),
    ]


async def test_entries_can_be_stored_as_json(cluster: Cluster, lab: Laboratory) -> None:
    await cluster.client().create(config_map("a", k="1"))
    entry = lab.journal[-1]
    assert msgspec.json.decode(msgspec.json.encode(entry.as_dict()))["after"]["data"] == {"k": "1"}
    assert "after" not in entry.as_dict(bodies=False)
    assert lab.journal_since(entry.number - 1)[0] is entry
    assert lab.journal_since(entry.number) == []


async def test_repr_shows_no_secrets(cluster: Cluster, lab: Laboratory) -> None:
    secret = core.Secret(metadata=meta.ObjectMeta(name="s", namespace="default"), data={"password": b"hunter2"})
    await cluster.client().create(secret)
    (entry,) = [one for one in lab.journal if one.name == "s"]
    assert "aHVudGVyMg" not in repr(entry)
    assert repr(entry).endswith(f"kubewright-admin create secrets default/s: 201, revision {entry.revision}>")


async def test_reports_each_write_to_functions(
    cluster: Cluster, lab: Laboratory, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def check(entry: JournalEntry) -> None:
        seen.append(entry.name)
        assert entry.name != "bad"

    client = cluster.client()
    with lab.on_write(check), caplog.at_level(logging.ERROR):
        await client.create(config_map("a"))
        await client.get(core.ConfigMap, "a", "default")
        await client.create(config_map("bad"))
    await client.create(config_map("b"))
    assert seen == ["a", "bad"]
    assert "a function passed to on_write failed at <" in caplog.text


def test_rejects_functions_that_cannot_be_called_with_an_entry(lab: Laboratory) -> None:
    async def check(entry: JournalEntry) -> None: ...

    for wrong in (check, lambda: None, None):
        with pytest.raises(TypeError, match="on_write takes a plain function of one argument"):
            lab.on_write(wrong)  # type: ignore[arg-type]
