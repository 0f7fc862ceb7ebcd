"""Controllers process a bounded number of objects in each turn of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable

import pytest
import pytest_asyncio

import kubewright as kw
from kubewright.api import Object, Quantity, apps, core, meta, rbac
from kubewright.api.apiextensions import CustomResourceDefinition
from kubewright.client import Client, NotFound
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.workloads import REQUESTS_PER_TURN, Workloads
from kubewright.crd import install

# The number of objects that a turn may process, and that it may only look at.
PROCESSED, SCANNED = 16, 128


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(seed=1) as cluster:
        yield cluster


@pytest_asyncio.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client(namespace="default") as client:
        yield client


async def turns_until(work: Awaitable[None]) -> int:
    """Returns the number of turns of the event loop until the work is done."""
    turns, task = 0, asyncio.ensure_future(work)
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    await task
    return turns


async def most_writes_in_a_turn(cluster: Cluster, work: Awaitable[None]) -> int:
    """Returns the largest number of writes in one turn of the event loop until the work is done."""
    most, task = 0, asyncio.ensure_future(work)
    while not task.done():
        before = cluster.state.storage.revision
        await asyncio.sleep(0)
        most = max(most, cluster.state.storage.revision - before)
    await task
    return most


def config_map(name: str, namespace: str = "default", **metadata: object) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace, **metadata))  # type: ignore[arg-type]


async def test_counts_quota_in_turns(cluster: Cluster, client: Client) -> None:
    for number in range(320):
        await client.create(config_map(f"c-{number}"))
    hard = {"count/configmaps": Quantity("1000")}
    quota = core.ResourceQuota(metadata=meta.ObjectMeta(name="q"), spec=core.ResourceQuotaSpec(hard=hard))
    await cluster.settled()
    await client.create(quota)
    assert await turns_until(cluster.settled()) >= 320 / PROCESSED
    status = (await client.get(core.ResourceQuota, "q")).status
    assert (status.used or {})["count/configmaps"] == Quantity("321")  # and kube-root-ca.crt


async def test_counts_writes_during_the_count_of_a_quota(cluster: Cluster, client: Client) -> None:
    for number in range(320):
        await client.create(config_map(f"c-{number}"))
    await cluster.settled()
    hard = {"count/configmaps": Quantity("1000")}
    await client.create(core.ResourceQuota(metadata=meta.ObjectMeta(name="q"), spec=core.ResourceQuotaSpec(hard=hard)))
    for number in range(10):  # each request lets the controller continue
        await client.delete(core.ConfigMap, f"c-{number}")
        await client.delete(core.ConfigMap, f"c-{319 - number}")
        await client.create(config_map(f"new-{number}"))
    await cluster.settled()
    status = (await client.get(core.ResourceQuota, "q")).status
    assert (status.used or {})["count/configmaps"] == Quantity("311")


async def test_empties_namespace_in_turns(cluster: Cluster, client: Client) -> None:
    await client.create(core.Namespace(metadata=meta.ObjectMeta(name="full")))
    for number in range(320):
        await client.create(config_map(f"c-{number}", "full"))
    await cluster.settled()
    await client.delete(core.Namespace, "full")
    assert await turns_until(cluster.settled()) >= 320 / PROCESSED
    assert [each for each in await client.list(core.ConfigMap, None) if each.metadata.namespace == "full"] == []


async def test_orphans_dependents_in_turns(cluster: Cluster, client: Client) -> None:
    root = await client.create(config_map("root"))
    owner = meta.OwnerReference(api_version="v1", kind="ConfigMap", name="root", uid=root.metadata.uid or "")
    for number in range(320):
        await client.create(config_map(f"c-{number}", owner_references=[owner]))
    await cluster.settled()
    await client.delete(root, propagation="Orphan")
    assert await turns_until(cluster.settled()) >= 320 / PROCESSED
    left = await client.list(core.ConfigMap, "default")
    assert len([each for each in left if each.metadata.name.startswith("c-")]) == 320


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_deletes_dependents_in_turns(cluster: Cluster, client: Client, propagation: str) -> None:
    root = await client.create(config_map("root"))
    owner = meta.OwnerReference(
        api_version="v1", kind="ConfigMap", name="root", uid=root.metadata.uid or "", block_owner_deletion=True
    )
    for number in range(320):
        await client.create(config_map(f"c-{number}", owner_references=[owner]))
    await cluster.settled()
    await client.delete(root, propagation=propagation)  # type: ignore[arg-type]
    assert await most_writes_in_a_turn(cluster, cluster.settled()) <= PROCESSED
    assert [each.metadata.name for each in await client.list(core.ConfigMap, "default")] == ["kube-root-ca.crt"]


async def test_fills_namespaces_in_turns(cluster: Cluster, client: Client) -> None:
    for number in range(320):
        await client.create(core.Namespace(metadata=meta.ObjectMeta(name=f"n-{number}")))
    assert await most_writes_in_a_turn(cluster, cluster.settled()) <= 2 * PROCESSED  # an account and a ConfigMap
    assert len(await client.list(core.ServiceAccount, None)) >= 320


def template() -> core.PodTemplateSpec:
    spec = core.PodSpec(containers=[core.Container(name="c", image="i")])
    return core.PodTemplateSpec(metadata=meta.ObjectMeta(labels={"app": "a"}), spec=spec)


SELECTED = meta.LabelSelector(match_labels={"app": "a"})
MANY_PODS: dict[str, Object] = {
    "replicasets": apps.ReplicaSet(
        metadata=meta.ObjectMeta(name="many"),
        spec=apps.ReplicaSetSpec(replicas=100, selector=SELECTED, template=template()),
    ),
    "replicationcontrollers": core.ReplicationController(
        metadata=meta.ObjectMeta(name="many"),
        spec=core.ReplicationControllerSpec(replicas=100, selector={"app": "a"}, template=template()),
    ),
    "statefulsets": apps.StatefulSet(
        metadata=meta.ObjectMeta(name="many"),
        spec=apps.StatefulSetSpec(
            replicas=100, selector=SELECTED, service_name="s", template=template(), pod_management_policy="Parallel"
        ),
    ),
}


@pytest.mark.parametrize("kind", MANY_PODS)
async def test_creates_and_deletes_many_pods_in_turns(kind: str) -> None:
    """Requests of controllers in the same process never wait for a socket."""
    async with (
        Cluster(clock=VirtualClock(), seed=1, workloads=Workloads(heartbeat=None)) as cluster,
        cluster.client(namespace="default") as client,
    ):
        made = await client.create(MANY_PODS[kind])
        allowed = REQUESTS_PER_TURN + PROCESSED  # those of the workloads and of the garbage collector
        assert await most_writes_in_a_turn(cluster, cluster.settled()) <= allowed
        assert len(await client.list(core.Pod)) == 100
        await client.delete(made)
        assert await most_writes_in_a_turn(cluster, cluster.settled()) <= allowed


async def test_aggregates_cluster_roles_in_turns(cluster: Cluster, client: Client) -> None:
    selector = meta.LabelSelector(match_labels={"to": "all"})
    for number in range(320):
        labels = {"to": "all"} if number % 10 == 0 else {}
        await client.create(rbac.ClusterRole(metadata=meta.ObjectMeta(name=f"part-{number}", labels=labels)))
    await cluster.settled()
    rule = rbac.AggregationRule(cluster_role_selectors=[selector])
    await client.create(rbac.ClusterRole(metadata=meta.ObjectMeta(name="all"), aggregation_rule=rule))
    assert await turns_until(cluster.settled()) >= 320 / SCANNED


async def test_looks_for_pods_of_a_claim_in_turns(cluster: Cluster, client: Client) -> None:
    containers = [core.Container(name="c", image="i")]
    for number in range(640):
        pod = core.Pod(metadata=meta.ObjectMeta(name=f"p-{number}"), spec=core.PodSpec(containers=containers))
        await client.create(pod)
    claim = core.PersistentVolumeClaim(
        metadata=meta.ObjectMeta(name="claim"),
        spec=core.PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=core.VolumeResourceRequirements(requests={"storage": Quantity("1Gi")}),
        ),
    )
    await client.create(claim)
    await cluster.settled()
    await client.delete(core.PersistentVolumeClaim, "claim")
    assert await turns_until(cluster.settled()) >= 640 / SCANNED
    with pytest.raises(NotFound):
        await client.get(core.PersistentVolumeClaim, "claim")


class GadgetSpec(kw.Model):
    size: int = 0


@kw.resource("example.com/v1")
class Gadget(kw.Resource[GadgetSpec, None]):
    """A custom kind with many objects."""


async def test_deletes_objects_of_a_definition_in_turns(cluster: Cluster, client: Client) -> None:
    await install(client, Gadget)
    for number in range(320):
        await client.create(
            Gadget(metadata=meta.ObjectMeta(name=f"g-{number}", namespace="default"), spec=GadgetSpec())
        )
    await cluster.settled()
    await client.delete(CustomResourceDefinition, "gadgets.example.com")
    turns, storage = 0, cluster.dispatcher.state.storage
    while storage.count("example.com/gadgets"):
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 320 / PROCESSED - 1
