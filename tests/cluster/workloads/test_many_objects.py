"""The controllers use indexes: the work for one change does not grow with the number of objects in a namespace."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kubewright.api import Object, Quantity, Selector, apps, batch, core, meta, policy
from kubewright.cache import Snapshot
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.workloads import Workloads

FEW, MANY = 3, 24


class Examined:
    """Counts the objects that caches decode, and those that they compare with a selector."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        decode, matches = Snapshot.object, Selector.matches

        def decoded(snapshot: Snapshot[Any]) -> Any:
            self.counts[snapshot.kind.__name__] += 1
            return decode(snapshot)

        def compared(selector: Selector, labels: Any) -> bool:
            self.counts["compared"] += 1
            return matches(selector, labels)

        monkeypatch.setattr(Snapshot, "object", decoded)
        monkeypatch.setattr(Selector, "matches", compared)


def labels_of(number: int) -> dict[str, str]:
    """Returns labels of which one is the same for all objects."""
    return {"app": "shared", "name": f"n{number}"}


def objects(number: int) -> list[Object]:
    """Returns one object of each kind with a selector, a Job, and a claim."""
    labels = labels_of(number)
    selector = meta.LabelSelector(match_labels=labels)
    pod = core.PodSpec(containers=[core.Container(name="main", image="app:1")])
    template = core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=labels), spec=pod)
    ended = core.PodSpec(containers=[core.Container(name="main", image="app:1")], restart_policy="Never")
    claim = core.PersistentVolumeClaimSpec(
        access_modes=["ReadWriteOnce"], resources=core.VolumeResourceRequirements(requests={"storage": Quantity("1Gi")})
    )

    def named(kind: str) -> meta.ObjectMeta:
        return meta.ObjectMeta(name=f"{kind}-{number}", labels=labels)

    claims = [core.PersistentVolumeClaim(metadata=meta.ObjectMeta(name="data"), spec=claim)]
    stateful_set = apps.StatefulSetSpec(
        selector=selector, template=template, service_name=f"service-{number}", volume_claim_templates=claims
    )
    own = {**labels, "of": "daemons"}
    daemon_set = apps.DaemonSetSpec(
        selector=meta.LabelSelector(match_labels=own),
        template=core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=own), spec=pod),
    )
    recreate = apps.DeploymentStrategy(type="Recreate")
    other = {**labels, "of": "deployment"}
    deployment = apps.DeploymentSpec(
        selector=meta.LabelSelector(match_labels=other),
        template=core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=other), spec=pod),
        strategy=recreate,
    )
    service = core.ServiceSpec(selector=labels, ports=[core.ServicePort(port=80)])
    return [
        apps.StatefulSet(metadata=named("set"), spec=stateful_set),
        apps.Deployment(metadata=named("deployment"), spec=deployment),
        apps.DaemonSet(metadata=named("daemons"), spec=daemon_set),
        core.Service(metadata=named("service"), spec=service),
        policy.PodDisruptionBudget(
            metadata=named("budget"), spec=policy.PodDisruptionBudgetSpec(selector=selector, max_unavailable=1)
        ),
        batch.Job(metadata=named("job"), spec=batch.JobSpec(template=core.PodTemplateSpec(spec=ended))),
        core.Endpoints(metadata=named("endpoints")),
        core.Service(metadata=named("endpoints"), spec=core.ServiceSpec(ports=[core.ServicePort(port=80)])),
    ]


async def recreate_pod(client: Client) -> None:
    """Deletes a pod of a StatefulSet, which gets another one."""
    await client.delete(core.Pod, "set-0-0")


async def adopt_pod(client: Client) -> None:
    """Creates a pod without an owner, which a StatefulSet adopts, and deletes as a surplus one."""
    pod = core.PodSpec(containers=[core.Container(name="main", image="app:1")])
    await client.create(core.Pod(metadata=meta.ObjectMeta(name="set-0-7", labels=labels_of(0)), spec=pod))


async def roll_out(client: Client) -> None:
    """Changes the template of a Deployment, which replaces its ReplicaSet."""
    deployment = await client.get(apps.Deployment, "deployment-0")
    deployment.spec.template.metadata.labels["version"] = "2"
    await client.update(deployment)


async def remove_job(client: Client) -> None:
    await client.delete(batch.Job, "job-0")


async def change_endpoints(client: Client) -> None:
    """Gives Endpoints an address, which is mirrored to a slice."""
    endpoints = await client.get(core.Endpoints, "endpoints-0")
    address = core.EndpointAddress(ip="192.0.2.1")
    endpoints.subsets = [core.EndpointSubset(addresses=[address], ports=[core.EndpointPort(port=80)])]
    await client.update(endpoints)


async def bind_claim(client: Client) -> None:
    """Creates a claim, which gets a new volume."""
    spec = core.PersistentVolumeClaimSpec(
        access_modes=["ReadWriteOnce"], resources=core.VolumeResourceRequirements(requests={"storage": Quantity("1Gi")})
    )
    await client.create(core.PersistentVolumeClaim(metadata=meta.ObjectMeta(name="more"), spec=spec))


CHANGES = [recreate_pod, adopt_pod, roll_out, remove_job, change_endpoints, bind_claim]


async def examined(number: int, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Counter[str]]]:
    """Returns how many objects the controllers examine for each change, with that number of objects of each kind."""
    clock = VirtualClock()
    settings = Workloads(heartbeat=None)
    async with (
        Cluster(clock=clock, seed=7, workloads=settings) as cluster,
        cluster.client(namespace="default") as client,
    ):
        for each in range(number):
            for obj in objects(each):
                await client.create(obj)
        await clock.advance(60)
        await cluster.settled()
        found = []
        for change in CHANGES:
            with monkeypatch.context() as patched:
                counting = Examined(patched)
                await change(client)
                await clock.advance(60)
                await cluster.settled()
            found.append((change.__name__, counting.counts))
        return found


@pytest.mark.promise(
    "The embedded cluster", "The controllers' work for one change does not grow with the objects of a namespace."
)
async def test_examines_as_many_objects_in_large_namespace_as_in_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = await examined(FEW, monkeypatch), await examined(MANY, monkeypatch)
    assert all(counts["Pod"] or counts["Endpoints"] or counts["PersistentVolume"] for _, counts in few)
    for (change, before), (_, after) in zip(few, many, strict=True):
        scanned = {what for what, count in after.items() if count >= before[what] + MANY - FEW}
        assert not scanned, f"{change}: {before} among few objects, {after} among many"
