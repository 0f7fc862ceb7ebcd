"""Claims of the embedded cluster are kept while a pod uses them."""

from __future__ import annotations

from kubewright.api import Quantity, core, meta
from kubewright.cluster import Cluster


def claim() -> core.PersistentVolumeClaim:
    return core.PersistentVolumeClaim(
        metadata=meta.ObjectMeta(name="data"),
        spec=core.PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=core.VolumeResourceRequirements(requests={"storage": Quantity("1Gi")}),
        ),
    )


def pod() -> core.Pod:
    source = core.PersistentVolumeClaimVolumeSource(claim_name="data")
    return core.Pod(
        metadata=meta.ObjectMeta(name="user"),
        spec=core.PodSpec(
            containers=[core.Container(name="a", image="a")],
            volumes=[core.Volume(name="data", persistent_volume_claim=source)],
        ),
    )


async def test_deletes_unused_claim() -> None:
    async with Cluster() as cluster, cluster.client(namespace="default") as client:
        made = await client.create(claim())
        assert made.metadata.finalizers == ["kubernetes.io/pvc-protection"]
        await client.delete(made)
        await cluster.settled()
        assert await client.find(core.PersistentVolumeClaim, "data") is None


async def test_keeps_claim_while_a_pod_uses_it() -> None:
    async with Cluster() as cluster, cluster.client(namespace="default") as client:
        made = await client.create(claim())
        user = await client.create(pod())
        await client.delete(made)
        await cluster.settled()
        assert (await client.get(core.PersistentVolumeClaim, "data")).metadata.deletion_timestamp is not None
        await client.delete(user)
        await cluster.settled()
        assert await client.find(core.PersistentVolumeClaim, "data") is None
