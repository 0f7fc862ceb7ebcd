"""Immutable fields of applied objects, on both clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from kubewright.api import Quantity, apps, batch, core, meta, rbac
from kubewright.client import Invalid, MergePatch
from kubewright.cluster import Cluster
from kubewright.controller import BeingDeleted, ImmutableFields, Outdated
from kubewright.testing import RealCluster
from tests.controller.apply_bench import Bench, deployment, open_bench

pytestmark = pytest.mark.clusters
IMAGE = "spec.template.spec.containers[0].image"


@pytest_asyncio.fixture
async def bench(cluster: Cluster | RealCluster, namespace: str) -> AsyncIterator[Bench]:
    async with open_bench(cluster, namespace) as opened:
        yield opened


def job(image: str, **labels: str) -> batch.Job:
    container = core.Container(name="main", image=image, env=[core.EnvVar(name="PASSWORD", value="hunter2")])
    pod = core.PodTemplateSpec(spec=core.PodSpec(restart_policy="Never", containers=[container]))
    return batch.Job(metadata=meta.ObjectMeta(name="one", labels=labels), spec=batch.JobSpec(template=pod))


def stateful_set(replicas: int, service: str, size: str = "1Gi") -> apps.StatefulSet:
    claim = core.PersistentVolumeClaim(
        metadata=meta.ObjectMeta(name="data"),
        spec=core.PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=core.VolumeResourceRequirements(requests={"storage": Quantity(size)}),
        ),
    )
    return apps.StatefulSet(
        metadata=meta.ObjectMeta(name="one"),
        spec=apps.StatefulSetSpec(
            replicas=replicas,
            service_name=service,
            selector=meta.LabelSelector(match_labels={"app": "one"}),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels={"app": "one"}),
                spec=core.PodSpec(containers=[core.Container(name="main", image="a")]),
            ),
            volume_claim_templates=[claim],
        ),
    )


def image_of(found: batch.Job) -> str | None:
    return found.spec.template.spec.containers[0].image


@pytest.mark.promise("Owned objects and `apply`", "A change of an immutable field fails by default and names it.")
async def test_fails_with_the_names_of_the_fields(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, job("a"))
    with pytest.raises(ImmutableFields) as raised:
        await bench.applier.apply(bench.owner, job("b"))
    assert raised.value.fields == (IMAGE,)
    assert f"has immutable fields that would change: {IMAGE}. Keep the values" in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


@pytest.mark.promise("Owned objects and `apply`", 'immutable="keep" keeps immutable fields, and applies the others.')
async def test_keeps_the_fields_and_applies_the_rest(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, job("a", tier="1"))
    kept = await bench.applier.apply(bench.owner, job("b", tier="2"), immutable="keep")
    assert (kept.kept, kept.written) == ((IMAGE,), True)
    assert image_of(kept.object) == "a"
    assert (kept.object.metadata.labels or {})["tier"] == "2"
    await bench.look(batch.Job, "one")
    bench.sent()
    again = await bench.applier.apply(bench.owner, job("b", tier="2"), immutable="keep")
    assert (bench.sent(), again.written, again.kept) == ([], False, ())


async def test_keeps_an_object_whose_dropped_field_cannot_be_removed(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, job("a"))
    dropped = job("a")
    dropped.spec.template.spec.containers[0].env = None
    kept = await bench.applier.apply(bench.owner, dropped, immutable="keep")
    assert (kept.kept, kept.written) == (("spec.template",), False)
    bench.sent()
    await bench.applier.apply(bench.owner, dropped, immutable="keep")
    assert bench.sent() == []


@pytest.mark.promise("Owned objects and `apply`", 'immutable="recreate" deletes by uid, and creates the object again.')
async def test_recreates_the_object(bench: Bench) -> None:
    first = (await bench.applier.apply(bench.owner, job("a"))).object
    again = await bench.applier.apply(bench.owner, job("b"), immutable="recreate")
    assert again.recreated == (IMAGE,)
    assert again.created
    assert image_of(again.object) == "b"
    assert again.object.metadata.uid != first.metadata.uid
    [delete] = [one for one in bench.requests if one.verb == "delete"]
    assert msgspec.json.decode(delete.body or b"")["preconditions"] == {"uid": first.metadata.uid}
    assert bench.sent()[-2:] == ["delete jobs.batch", "create jobs.batch"]


async def test_recreates_only_the_object_that_it_has_read(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, job("a"))
    await bench.applier.apply(bench.owner, job("a", tier="1"))
    old = await bench.client.get(batch.Job, "one")
    await bench.client.delete(old, propagation="Background")
    other = await bench.client.create(job("c"))
    with pytest.raises(Outdated):
        await bench.applier.apply(bench.owner, job("b"), immutable="recreate")
    assert (await bench.client.get(batch.Job, "one")).metadata.uid == other.metadata.uid


async def test_waits_for_finalizers_of_the_old_object(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, job("a"))
    held = MergePatch({"metadata": {"finalizers": ["example.com/hold"]}})
    await bench.client.patch(batch.Job, "one", held)
    await bench.look(batch.Job, "one")
    for _ in range(2):
        with pytest.raises(BeingDeleted, match=r"waits for its finalizers \(example.com/hold\)"):
            await bench.applier.apply(bench.owner, job("b"), immutable="recreate")
    await bench.client.patch(batch.Job, "one", MergePatch({"metadata": {"finalizers": None}}))
    await bench.look(batch.Job, "one")
    assert (await bench.applier.apply(bench.owner, job("b"), immutable="recreate")).created


@pytest.mark.promise("Owned objects and `apply`", "recreate deletes nothing that the server would not accept again.")
async def test_deletes_nothing_if_the_new_object_is_invalid(bench: Bench) -> None:
    first = (await bench.applier.apply(bench.owner, job("a"))).object
    invalid = job("b")
    invalid.spec.template.spec.restart_policy = "Always"
    with pytest.raises(Invalid):
        await bench.applier.apply(bench.owner, invalid, immutable="recreate")
    assert (await bench.client.get(batch.Job, "one")).metadata.uid == first.metadata.uid


async def test_does_not_recreate_an_object_that_it_adopts(bench: Bench) -> None:
    other = await bench.client.create(job("a"))
    await bench.look(batch.Job, "one")
    with pytest.raises(ImmutableFields, match="was not created for this owner, so it is not deleted either"):
        await bench.applier.apply(bench.owner, job("b"), adopt=True, immutable="recreate")
    assert (await bench.client.get(batch.Job, "one")).metadata.uid == other.metadata.uid


async def test_names_the_fields_of_a_stateful_set_and_keeps_them(bench: Bench) -> None:
    await bench.applier.apply(bench.owner, stateful_set(1, "a"))
    with pytest.raises(ImmutableFields) as raised:
        await bench.applier.apply(bench.owner, stateful_set(2, "b"))
    assert raised.value.fields == ("spec.serviceName",)
    kept = await bench.applier.apply(bench.owner, stateful_set(2, "b"), immutable="keep")
    assert (kept.object.spec.service_name, kept.object.spec.replicas) == ("a", 2)
    with pytest.raises(ImmutableFields) as raised:
        await bench.applier.apply(bench.owner, stateful_set(2, "a", "5Gi"))
    assert raised.value.fields == ("spec.volumeClaimTemplates[0].spec.resources.requests.storage",)


def claim(storage_class: str) -> core.PersistentVolumeClaim:
    spec = stateful_set(1, "a").spec.volume_claim_templates
    assert spec is not None
    made = core.PersistentVolumeClaim(metadata=meta.ObjectMeta(name="one"), spec=spec[0].spec)
    made.spec.storage_class_name = storage_class
    return made


def binding(role: str) -> rbac.RoleBinding:
    return rbac.RoleBinding(
        metadata=meta.ObjectMeta(name="one"),
        role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=role),
    )


def selecting(app: str) -> apps.Deployment:
    made = deployment()
    made.spec.selector = meta.LabelSelector(match_labels={"app": app})
    made.spec.template.metadata = meta.ObjectMeta(labels={"app": app})
    return made


def secret(type_: str) -> core.Secret:
    return core.Secret(metadata=meta.ObjectMeta(name="one"), type=type_, string_data={"a": "b"})


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        (claim("fast"), claim("slow"), "spec.storageClassName"),
        (binding("a"), binding("b"), "roleRef.name"),
        (selecting("a"), selecting("b"), "spec.selector.matchLabels.app"),
        (secret("example.com/a"), secret("example.com/b"), "type"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_recognizes_the_errors_of_other_kinds(bench: Bench, before: Any, after: Any, field: str) -> None:
    await bench.applier.apply(bench.owner, before)
    with pytest.raises(ImmutableFields) as raised:
        await bench.applier.apply(bench.owner, after)
    assert raised.value.fields == (field,)


async def test_rejects_an_unknown_policy(bench: Bench) -> None:
    with pytest.raises(ValueError, match="immutable must be one of 'fail', 'keep', 'recreate', not 'ignore'"):
        await bench.applier.apply(bench.owner, job("a"), immutable="ignore")  # type: ignore[arg-type]
