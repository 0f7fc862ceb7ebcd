"""Tests of Memcached."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from memcached import Memcached, MemcachedSpec, deployment_of, operator

import kubewright as kw
from kubewright.api import apps, core, find_condition, meta
from kubewright.client import ApiError, Client, MergePatch, NotFound
from kubewright.crd import install
from kubewright.testing import FakeNode

pytestmark = pytest.mark.clusters


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """The embedded cluster runs Deployments."""
    return {"controllers": True, "workloads": True}


@pytest.fixture
async def nodes(cluster_kind: str, client: Client, namespace: str) -> AsyncIterator[None]:
    """Makes pods ready. The real control plane has no nodes, so a fake node runs there."""
    async with contextlib.AsyncExitStack() as stack:
        if cluster_kind == "real":
            await stack.enter_async_context(FakeNode(client, name=f"node-{namespace}", namespace=namespace))
        yield


@pytest.fixture
async def at_work(client: Client, namespace: str) -> AsyncIterator[None]:
    """Runs the operator in the test's namespace."""
    async with operator.running(client, namespaces=[namespace]):
        yield


def make(namespace: str, name: str = "one", **spec: Any) -> Memcached:
    return Memcached(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=MemcachedSpec(**spec))


def condition(memcached: Memcached, type_: str) -> tuple[str, str] | None:
    """Returns status and reason of a condition of the current generation."""
    found = find_condition(memcached.status, type_)
    if found is None or found.observed_generation != memcached.metadata.generation:
        return None
    return found.status, found.reason


async def settled(client: Client, namespace: str, size: int) -> Memcached:
    """Returns the Memcached as soon as it is available with that many pods."""

    def is_settled(found: Memcached) -> bool:
        well = (condition(found, "Available"), condition(found, "Degraded")) == (
            ("True", "AllUp"),
            ("False", "AllWell"),
        )
        return found.spec.size == size and well and len(found.status.nodes or []) == size

    return await client.wait_for(Memcached, "one", is_settled, namespace)


async def events(client: Client, namespace: str, reason: str) -> list[core.Event]:
    """Returns the events with that reason as soon as there is one."""
    while True:
        if found := [event async for event in client.list(core.Event, namespace) if event.reason == reason]:
            return found
        await asyncio.sleep(0.02)


@pytest.mark.usefixtures("nodes", "at_work")
async def test_runs_and_reports_its_nodes(client: Client, namespace: str) -> None:
    made = await client.create(make(namespace, size=3, container_port=11300))
    memcached = await settled(client, namespace, 3)
    assert memcached.status.nodes == sorted(pod.metadata.name for pod in await client.list(core.Pod, namespace))

    deployment = await client.get(apps.Deployment, "one", namespace)
    [owner] = deployment.metadata.owner_references
    assert (owner.kind, owner.uid, owner.controller) == ("Memcached", made.metadata.uid, True)
    assert deployment.spec.template.spec is not None
    [server] = deployment.spec.template.spec.containers
    assert server.image == "memcached:1.6-alpine"
    assert [port.container_port for port in server.ports or []] == [11300]
    assert "--port=11300" in (server.command or [])
    [found] = await events(client, namespace, "Deployed")
    assert (found.type, found.message) == ("Normal", "Deployment one has the size 3")


@pytest.mark.usefixtures("nodes", "at_work")
async def test_follows_the_size_and_repairs_drift(client: Client, namespace: str) -> None:
    await client.create(make(namespace, size=1))
    first = await settled(client, namespace, 1)
    await client.patch(Memcached, "one", MergePatch({"spec": {"size": 4}}), namespace)
    assert set((await settled(client, namespace, 4)).status.nodes or []) > set(first.status.nodes or [])
    await client.patch(apps.Deployment, "one", MergePatch({"spec": {"replicas": 0}}), namespace)
    await client.wait_for(apps.Deployment, "one", lambda found: found.spec.replicas == 4, namespace)
    await client.delete(apps.Deployment, "one", namespace)
    await client.wait_for(apps.Deployment, "one", lambda found: found.status.available_replicas == 4, namespace)
    await client.patch(Memcached, "one", MergePatch({"spec": {"size": 2}}), namespace)
    await settled(client, namespace, 2)


@pytest.mark.usefixtures("nodes", "at_work")
async def test_reports_a_replaced_pod(client: Client, namespace: str) -> None:
    await client.create(make(namespace, size=2))
    [lost, kept] = (await settled(client, namespace, 2)).status.nodes or []
    await client.delete(core.Pod, lost, namespace)

    def is_replaced(found: Memcached) -> bool:
        nodes = set(found.status.nodes or [])
        return len(nodes) == 2 and kept in nodes and lost not in nodes

    await client.wait_for(Memcached, "one", is_replaced, namespace)


@pytest.mark.clusters("real")  # an embedded cluster with workloads has nodes
@pytest.mark.usefixtures("at_work")
async def test_reports_waiting_without_nodes(client: Client, namespace: str) -> None:
    await client.create(make(namespace, size=2))
    waiting = await client.wait_for(Memcached, "one", lambda found: len(found.status.nodes or []) == 2, namespace)
    assert (condition(waiting, "Available"), condition(waiting, "Degraded")) == (
        ("False", "Waiting"),
        ("False", "AllWell"),
    )


@pytest.mark.usefixtures("nodes", "at_work")
async def test_is_degraded_while_pods_are_rejected(client: Client, namespace: str) -> None:
    tight = core.LimitRangeSpec(limits=[core.LimitRangeItem(type="Pod", max={"memory": kw.Quantity("1Mi")})])
    await client.create(core.LimitRange(metadata=meta.ObjectMeta(name="tight", namespace=namespace), spec=tight))
    await client.create(make(namespace))
    refused = await client.wait_for(
        Memcached, "one", lambda found: condition(found, "Degraded") == ("True", "FailedCreate"), namespace
    )
    assert condition(refused, "Available") == ("False", "Waiting")
    found = find_condition(refused.status, "Degraded")
    assert found is not None
    assert "1Mi" in found.message
    await client.delete(core.LimitRange, "tight", namespace)
    await settled(client, namespace, 1)


@pytest.mark.usefixtures("nodes", "at_work")
async def test_does_not_touch_a_foreign_deployment(client: Client, namespace: str) -> None:
    theirs = deployment_of(make(namespace))
    theirs.metadata.namespace, theirs.spec.replicas = namespace, 0
    await client.create(theirs)
    await client.create(make(namespace))
    refused = await client.wait_for(
        Memcached, "one", lambda found: condition(found, "Degraded") == ("True", "NotOwned"), namespace
    )
    assert condition(refused, "Available") == ("False", "NotDeployed")
    assert (await events(client, namespace, "NotOwned"))[0].type == "Warning"
    still = await client.get(apps.Deployment, "one", namespace)
    assert (still.metadata.owner_references, still.spec.replicas) == ([], 0)
    await client.delete(still)
    await settled(client, namespace, 1)  # retried, with backoff


@pytest.mark.usefixtures("nodes", "at_work")
async def test_is_removed_after_its_nodes(client: Client, namespace: str) -> None:
    await client.create(make(namespace, size=2))
    nodes = (await settled(client, namespace, 2)).status.nodes or []
    # A pod that stops slowly.
    await client.patch(core.Pod, nodes[0], MergePatch({"metadata": {"finalizers": ["example.com/slow"]}}), namespace)
    await client.delete(Memcached, "one", namespace)
    degraded = await client.wait_for(
        Memcached, "one", lambda found: condition(found, "Degraded") == ("True", "Finalizing"), namespace
    )
    assert degraded.metadata.deletion_timestamp is not None
    [found] = await events(client, namespace, "Deleting")
    assert (found.type, found.message) == ("Warning", "Memcached one is being deleted")
    await client.wait_for(core.Pod, nodes[0], lambda found: found.metadata.deletion_timestamp is not None, namespace)
    assert (await client.get(Memcached, "one", namespace)).metadata.finalizers == [
        "cache.example.com/memcached-operator"
    ]
    await client.patch(core.Pod, nodes[0], MergePatch({"metadata": {"finalizers": None}}), namespace)
    await gone(client, namespace)
    assert [pod.metadata.name async for pod in client.list(core.Pod, namespace)] == []
    assert [one.metadata.name async for one in client.list(apps.Deployment, namespace)] == []


@pytest.mark.usefixtures("nodes")
async def test_cleans_up_after_a_deletion_while_down(client: Client, namespace: str) -> None:
    async with operator.running(client, namespaces=[namespace]):
        await client.create(make(namespace))
        await settled(client, namespace, 1)
    await client.delete(Memcached, "one", namespace)
    assert (await client.get(apps.Deployment, "one", namespace)).metadata.deletion_timestamp is None
    async with operator.running(client, namespaces=[namespace]):
        await gone(client, namespace)
    with pytest.raises(NotFound):
        await client.get(apps.Deployment, "one", namespace)


async def gone(client: Client, namespace: str) -> None:
    """Waits until no Memcached is left."""
    while [one async for one in client.list(Memcached, namespace)]:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"size": 0}, "spec.size"),
        ({"size": 6}, "spec.size"),
        ({"size": "many"}, "spec.size"),
        ({"containerPort": 0}, "spec.containerPort"),
        ({"containerPort": 65536}, "spec.containerPort"),
    ],
)
async def test_schema_rejects_invalid_values(client: Client, namespace: str, spec: dict[str, Any], field: str) -> None:
    await install(client, Memcached)
    body = {"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "metadata": {"name": "bad"}, "spec": spec}
    with pytest.raises(ApiError) as error:
        await client.request("POST", f"/apis/cache.example.com/v1alpha1/namespaces/{namespace}/memcacheds", body=body)
    assert field in str(error.value)


async def test_rejects_a_name_too_long_for_labels(client: Client, namespace: str) -> None:
    await install(client, Memcached)
    with pytest.raises(ApiError, match="the name must have at most 63 characters"):
        await client.create(make(namespace, name="m" * 64))
