"""StatefulSets in the embedded cluster, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import Quantity, apps, controller_of, core, meta
from kubewright.cluster.nodes import PodPlan
from tests.cluster.workloads.conftest import LABELS, World, a_stateful_set, template


def put_image(image: str) -> Any:
    def change(workload: Any) -> None:
        workload.spec.template.spec.containers[0].image = image

    return change


def put_replicas(number: int) -> Any:
    def change(workload: Any) -> None:
        workload.spec.replicas = number

    return change


def claim_template(name: str = "data") -> core.PersistentVolumeClaim:
    resources = core.VolumeResourceRequirements(requests={"storage": Quantity("1Gi")})
    spec = core.PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources)
    return core.PersistentVolumeClaim(metadata=meta.ObjectMeta(name=name), spec=spec)


async def images(world: World) -> dict[str, str]:
    return {pod.metadata.name: pod.spec.containers[0].image or "" for pod in await world.all(core.Pod)}


@pytest.mark.promise(
    "The embedded cluster", "Pods of a StatefulSet are created and updated in order, above its partition."
)
async def test_creates_pods_in_order_when_ready(world: World) -> None:
    world.plans.default = PodPlan(ready_delay=10)
    await world.client.create(a_stateful_set(replicas=3))
    await world.passes(5)
    assert await world.names(core.Pod) == ["web-0"]
    await world.passes(10)
    assert await world.names(core.Pod) == ["web-0", "web-1"]
    await world.passes(20)
    assert await world.names(core.Pod) == ["web-0", "web-1", "web-2"]
    status = (await world.get(apps.StatefulSet, "web")).status
    assert status is not None
    assert (status.replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3)


async def test_parallel_management_creates_all_pods(world: World) -> None:
    world.plans.default = PodPlan(ready_delay=10)
    await world.client.create(a_stateful_set(replicas=3, pod_management_policy="Parallel"))
    await world.passes(1)
    assert await world.names(core.Pod) == ["web-0", "web-1", "web-2"]


async def test_pods_have_stable_names_and_claims(world: World) -> None:
    await world.client.create(a_stateful_set(replicas=2, volume_claim_templates=[claim_template()]))
    await world.passes(5)
    pod = await world.get(core.Pod, "web-1")
    assert (pod.spec.hostname, pod.spec.subdomain) == ("web-1", "web")
    assert pod.metadata.labels["apps.kubernetes.io/pod-index"] == "1"
    assert pod.metadata.labels["statefulset.kubernetes.io/pod-name"] == "web-1"
    (volume,) = pod.spec.volumes or []
    assert volume.persistent_volume_claim is not None
    assert volume.persistent_volume_claim.claim_name == "data-web-1"
    assert await world.names(core.PersistentVolumeClaim) == ["data-web-0", "data-web-1"]
    claim = await world.get(core.PersistentVolumeClaim, "data-web-1")
    assert claim.metadata.labels == LABELS
    assert claim.status.phase == "Bound"


async def test_scales_down_from_the_highest_and_keeps_claims(world: World) -> None:
    world.plans.default = PodPlan(stop_delay=10)
    await world.client.create(a_stateful_set(replicas=3, volume_claim_templates=[claim_template()]))
    await world.passes(5)
    await world.change(apps.StatefulSet, "web", put_replicas(1))
    await world.passes(5)
    leaving = [each.metadata.name for each in await world.all(core.Pod) if each.metadata.deletion_timestamp]
    assert leaving == ["web-2"]
    await world.passes(10)
    leaving = [each.metadata.name for each in await world.all(core.Pod) if each.metadata.deletion_timestamp]
    assert leaving == ["web-1"]
    await world.passes(10)
    assert await world.names(core.Pod) == ["web-0"]
    assert len(await world.names(core.PersistentVolumeClaim)) == 3


async def test_retention_policy_deletes_claims(world: World) -> None:
    policy = apps.StatefulSetPersistentVolumeClaimRetentionPolicy(when_deleted="Delete", when_scaled="Delete")
    await world.client.create(
        a_stateful_set(
            replicas=2,
            volume_claim_templates=[claim_template()],
            persistent_volume_claim_retention_policy=policy,
        )
    )
    await world.passes(5)
    await world.change(apps.StatefulSet, "web", put_replicas(1))
    await world.passes(40)
    assert await world.names(core.PersistentVolumeClaim) == ["data-web-0"]
    await world.client.delete(apps.StatefulSet, "web")
    await world.passes(40)
    assert await world.names(core.PersistentVolumeClaim) == []
    assert await world.names(core.PersistentVolume) == []


@pytest.mark.promise(
    "The embedded cluster", "Pods of a StatefulSet are created and updated in order, above its partition."
)
async def test_updates_in_reverse_order(world: World) -> None:
    await world.client.create(a_stateful_set(replicas=3))
    await world.passes(5)
    world.plans.default = PodPlan(ready_delay=10)
    await world.change(apps.StatefulSet, "web", put_image("nginx:2"))
    await world.passes(5)
    assert await images(world) == {"web-0": "nginx:1", "web-1": "nginx:1", "web-2": "nginx:2"}
    await world.passes(10)
    assert await images(world) == {"web-0": "nginx:1", "web-1": "nginx:2", "web-2": "nginx:2"}
    await world.passes(30)
    assert set((await images(world)).values()) == {"nginx:2"}
    status = (await world.get(apps.StatefulSet, "web")).status
    assert status is not None
    assert status.current_revision == status.update_revision
    assert (status.current_replicas, status.updated_replicas) == (3, 3)


@pytest.mark.promise(
    "The embedded cluster", "Pods of a StatefulSet are created and updated in order, above its partition."
)
async def test_partition_keeps_the_old_template(world: World) -> None:
    rolling = apps.RollingUpdateStatefulSetStrategy(partition=2)
    strategy = apps.StatefulSetUpdateStrategy(type="RollingUpdate", rolling_update=rolling)
    await world.client.create(a_stateful_set(replicas=3, update_strategy=strategy))
    await world.passes(5)
    await world.change(apps.StatefulSet, "web", put_image("nginx:2"))
    await world.passes(5)
    await world.client.delete(core.Pod, "web-0")
    await world.passes(5)
    assert await images(world) == {"web-0": "nginx:1", "web-1": "nginx:1", "web-2": "nginx:2"}
    status = (await world.get(apps.StatefulSet, "web")).status
    assert status is not None
    assert status.current_revision != status.update_revision
    assert (status.current_replicas, status.updated_replicas) == (2, 1)


async def test_on_delete_strategy_updates_deleted_pods(world: World) -> None:
    strategy = apps.StatefulSetUpdateStrategy(type="OnDelete")
    await world.client.create(a_stateful_set(replicas=2, update_strategy=strategy))
    await world.passes(5)
    await world.change(apps.StatefulSet, "web", put_image("nginx:2"))
    await world.passes(5)
    await world.client.delete(core.Pod, "web-1")
    await world.passes(5)
    assert await images(world) == {"web-0": "nginx:1", "web-1": "nginx:2"}


async def test_max_unavailable_replaces_several_pods(world: World) -> None:
    rolling = apps.RollingUpdateStatefulSetStrategy(max_unavailable=2)
    strategy = apps.StatefulSetUpdateStrategy(type="RollingUpdate", rolling_update=rolling)
    await world.client.create(a_stateful_set(replicas=4, update_strategy=strategy, pod_management_policy="Parallel"))
    await world.passes(5)
    world.plans.default = PodPlan(ready_delay=10)
    await world.change(apps.StatefulSet, "web", put_image("nginx:2"))
    await world.passes(5)
    assert sorted((await images(world)).values()) == ["nginx:1", "nginx:1", "nginx:2", "nginx:2"]


async def test_start_ordinal(world: World) -> None:
    await world.client.create(a_stateful_set(replicas=2, ordinals=apps.StatefulSetOrdinals(start=5)))
    await world.passes(5)
    assert await world.names(core.Pod) == ["web-5", "web-6"]


async def test_recreates_failed_pod_with_its_name(world: World) -> None:
    await world.client.create(a_stateful_set(replicas=1))
    await world.passes(5)
    before = await world.get(core.Pod, "web-0")
    before.status.phase = "Failed"
    await world.client.update_status(before)
    await world.passes(40)
    after = await world.get(core.Pod, "web-0")
    assert after.metadata.uid != before.metadata.uid
    assert after.status.phase == "Running"


async def test_deletes_old_revisions(world: World) -> None:
    await world.client.create(a_stateful_set(replicas=1, revision_history_limit=1))
    for number in range(2, 6):
        await world.passes(5)
        await world.change(apps.StatefulSet, "web", put_image(f"nginx:{number}"))
    await world.passes(10)
    revisions = sorted(each.revision for each in await world.all(apps.ControllerRevision))
    assert revisions == [4, 5]


async def test_adopts_orphans_with_matching_names_only(world: World) -> None:
    for name in ("web-0", "stranger"):
        metadata = meta.ObjectMeta(name=name, labels=dict(LABELS))
        await world.client.create(core.Pod(metadata=metadata, spec=template().spec))
    await world.passes(3)
    await world.client.create(
        a_stateful_set(replicas=1, update_strategy=apps.StatefulSetUpdateStrategy(type="OnDelete"))
    )
    await world.passes(5)
    owners = {pod.metadata.name: controller_of(pod) is not None for pod in await world.all(core.Pod)}
    assert owners == {"web-0": True, "stranger": False}


async def test_new_set_adopts_orphaned_pods_and_revisions(world: World) -> None:
    await world.client.create(a_stateful_set(replicas=2))
    await world.passes(5)
    before = {pod.metadata.uid for pod in await world.all(core.Pod)}
    await world.client.delete(apps.StatefulSet, "web", propagation="Orphan")
    await world.passes(5)
    await world.client.create(a_stateful_set(replicas=2))
    await world.passes(5)
    assert {pod.metadata.uid for pod in await world.all(core.Pod)} == before
    assert all(controller_of(each) is not None for each in await world.all(apps.ControllerRevision))
    status = (await world.get(apps.StatefulSet, "web")).status
    assert status is not None
    assert (status.ready_replicas, status.updated_replicas) == (2, 2)
