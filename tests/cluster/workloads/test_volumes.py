"""Claims and volumes in the embedded cluster, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import Quantity, core, meta
from tests.cluster.workloads.conftest import World


def a_claim(name: str = "data", size: str = "1Gi", **spec: Any) -> core.PersistentVolumeClaim:
    resources = core.VolumeResourceRequirements(requests={"storage": Quantity(size)})
    made = core.PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources, **spec)
    return core.PersistentVolumeClaim(metadata=meta.ObjectMeta(name=name), spec=made)


def a_volume(name: str, size: str, **spec: Any) -> core.PersistentVolume:
    made = core.PersistentVolumeSpec(
        access_modes=["ReadWriteOnce"],
        capacity={"storage": Quantity(size)},
        host_path=core.HostPathVolumeSource(path="/data"),
        **spec,
    )
    return core.PersistentVolume(metadata=meta.ObjectMeta(name=name), spec=made)


@pytest.mark.promise("The embedded cluster", "Claims get volumes, and Services get the addresses of ready pods.")
async def test_provisions_volume_that_is_deleted_with_its_claim(world: World) -> None:
    await world.client.create(a_claim(storage_class_name="fast"))
    await world.passes(1)
    claim = await world.get(core.PersistentVolumeClaim, "data")
    assert (claim.status.phase, claim.status.capacity) == ("Bound", {"storage": Quantity("1Gi")})
    (volume,) = await world.all(core.PersistentVolume)
    assert claim.spec.volume_name == volume.metadata.name == f"pvc-{claim.metadata.uid}"
    assert (volume.status.phase, volume.spec.storage_class_name) == ("Bound", "fast")
    await world.client.delete(core.PersistentVolumeClaim, "data")
    await world.passes(1)
    assert await world.names(core.PersistentVolume) == []


@pytest.mark.promise("The embedded cluster", "Claims get volumes, and Services get the addresses of ready pods.")
async def test_binds_the_smallest_fitting_volume(world: World) -> None:
    for name, size in (("big", "10Gi"), ("fitting", "2Gi"), ("small", "1Mi")):
        await world.client.create(a_volume(name, size, persistent_volume_reclaim_policy="Retain"))
    await world.passes(1)
    assert (await world.get(core.PersistentVolume, "big")).status.phase == "Available"
    await world.client.create(a_claim())
    await world.passes(1)
    claim = await world.get(core.PersistentVolumeClaim, "data")
    assert claim.spec.volume_name == "fitting"
    assert claim.status.capacity == {"storage": Quantity("2Gi")}
    await world.client.delete(core.PersistentVolumeClaim, "data")
    await world.passes(1)
    assert (await world.get(core.PersistentVolume, "fitting")).status.phase == "Released"


async def test_claim_without_class_waits_for_a_volume(world: World) -> None:
    await world.client.create(a_claim(storage_class_name=""))
    await world.passes(1)
    assert (await world.get(core.PersistentVolumeClaim, "data")).status.phase == "Pending"
    await world.client.create(a_volume("late", "5Gi"))
    await world.passes(1)
    assert (await world.get(core.PersistentVolumeClaim, "data")).status.phase == "Bound"


async def test_claims_do_not_share_a_volume(world: World) -> None:
    await world.client.create(a_volume("only", "5Gi"))
    await world.passes(1)
    for name in ("one", "two"):
        await world.client.create(a_claim(name, storage_class_name=""))
    await world.passes(1)
    phases = sorted(claim.status.phase or "" for claim in await world.all(core.PersistentVolumeClaim))
    assert phases == ["Bound", "Pending"]


async def test_keeps_claim_until_its_pod_is_gone(world: World) -> None:
    await world.client.create(a_claim())
    source = core.PersistentVolumeClaimVolumeSource(claim_name="data")
    volume = core.Volume(name="data", persistent_volume_claim=source)
    spec = core.PodSpec(containers=[core.Container(name="main", image="nginx")], volumes=[volume])
    await world.client.create(core.Pod(metadata=meta.ObjectMeta(name="user"), spec=spec))
    await world.passes(3)
    await world.client.delete(core.PersistentVolumeClaim, "data")
    await world.passes(3)
    assert await world.names(core.PersistentVolumeClaim) == ["data"]
    await world.client.delete(core.Pod, "user")
    await world.passes(3)
    assert await world.names(core.PersistentVolumeClaim) == []
    assert await world.names(core.PersistentVolume) == []
