"""Garbage collection in the embedded cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kubewright.api import OwnerReference, core, meta
from kubewright.client import Client, MergePatch, Propagation
from kubewright.cluster import Cluster


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(seed=1) as started:
        await started.settled()
        yield started


@pytest_asyncio.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client(namespace="default") as opened:
        yield opened


async def make(client: Client, name: str, *owners: core.ConfigMap, block: bool = True) -> core.ConfigMap:
    references = [
        OwnerReference(
            api_version="v1",
            kind="ConfigMap",
            name=owner.metadata.name,
            uid=owner.metadata.uid,
            controller=False,
            block_owner_deletion=block,
        )
        for owner in owners
    ]
    return await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name=name, owner_references=references)))


async def left(cluster: Cluster, client: Client) -> dict[str, core.ConfigMap]:
    await cluster.settled()
    found = await client.list(core.ConfigMap)
    return {each.metadata.name: each for each in found if each.metadata.name != "kube-root-ca.crt"}


@pytest.mark.promise(
    "The embedded cluster",
    "Dependents are deleted in the background, in the foreground, or orphaned.",
)
async def test_deletes_dependents_transitively(cluster: Cluster, client: Client) -> None:
    a = await make(client, "a")
    b = await make(client, "b", a)
    await make(client, "c", b)
    await make(client, "other")
    await client.delete(a)
    assert list(await left(cluster, client)) == ["other"]


async def test_keeps_object_with_another_owner(cluster: Cluster, client: Client) -> None:
    a, b = await make(client, "a"), await make(client, "b")
    await make(client, "child", a, b)
    await client.delete(a)
    found = await left(cluster, client)
    assert [each.name for each in found["child"].metadata.owner_references] == ["b"]
    await client.delete(b)
    assert list(await left(cluster, client)) == []


@pytest.mark.promise(
    "The embedded cluster",
    "Dependents are deleted in the background, in the foreground, or orphaned.",
)
async def test_orphan_policy_keeps_dependents(cluster: Cluster, client: Client) -> None:
    a = await make(client, "a")
    await make(client, "child", a)
    await client.delete(a, propagation="Orphan")
    found = await left(cluster, client)
    assert list(found) == ["child"]
    assert found["child"].metadata.owner_references == []


@pytest.mark.promise(
    "The embedded cluster",
    "Dependents are deleted in the background, in the foreground, or orphaned.",
)
async def test_foreground_deletion_waits_for_blocking_dependents(cluster: Cluster, client: Client) -> None:
    a = await make(client, "a")
    child = await make(client, "child", a)
    await client.patch(core.ConfigMap, "child", MergePatch({"metadata": {"finalizers": ["example.com/hold"]}}))
    await client.delete(a, propagation="Foreground")
    found = await left(cluster, client)
    assert found["a"].metadata.finalizers == ["foregroundDeletion"]
    assert found["child"].metadata.deletion_timestamp is not None
    await client.patch(core.ConfigMap, child.metadata.name, MergePatch({"metadata": {"finalizers": None}}))
    assert list(await left(cluster, client)) == []


async def test_foreground_deletion_ignores_non_blocking_dependents(cluster: Cluster, client: Client) -> None:
    a = await make(client, "a")
    await make(client, "child", a, block=False)
    await client.patch(core.ConfigMap, "child", MergePatch({"metadata": {"finalizers": ["example.com/hold"]}}))
    await client.delete(a, propagation="Foreground")
    found = await left(cluster, client)
    assert list(found) == ["child"]
    assert found["child"].metadata.deletion_timestamp is not None


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"uid": "00000000-0000-4000-8000-000000000000"}, id="an owner that never was"),
        pytest.param({"name": "b"}, id="an owner of another name"),
    ],
)
async def test_deletes_object_with_missing_owner(cluster: Cluster, client: Client, wrong: dict[str, Any]) -> None:
    a = await make(client, "a")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": a.metadata.uid} | wrong
    body = {"metadata": {"name": "child", "ownerReferences": [reference]}}
    await client.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
    assert list(await left(cluster, client)) == ["a"]


async def test_ignores_owner_in_another_namespace(cluster: Cluster, client: Client) -> None:
    a = await make(client, "a")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": a.metadata.uid}
    body = {"metadata": {"name": "child", "ownerReferences": [reference]}}
    await client.request("POST", "/api/v1/namespaces/kube-public/configmaps", body=body)
    await cluster.settled()
    assert await client.find(core.ConfigMap, "child", "kube-public") is None


async def test_cluster_scoped_owner_deletes_namespaced_dependents(cluster: Cluster, client: Client) -> None:
    node = await client.create(core.Node(metadata=meta.ObjectMeta(name="n")))
    reference = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": node.metadata.uid}
    body = {"metadata": {"name": "child", "ownerReferences": [reference]}}
    await client.request("POST", "/api/v1/namespaces/default/configmaps", body=body)
    assert list(await left(cluster, client)) == ["child"]
    await client.delete(node)
    assert list(await left(cluster, client)) == []


async def test_deletes_long_chain_without_recursion(cluster: Cluster, client: Client) -> None:
    first = owner = await make(client, "c0")
    for number in range(1, 1000):
        owner = await make(client, f"c{number}", owner)
    await client.delete(first)
    assert list(await left(cluster, client)) == []


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_collects_objects_of_a_snapshot(tmp_path: Any, policy: Propagation) -> None:
    file = tmp_path / "state"
    async with Cluster(seed=1, snapshot=file, controllers=False) as bare, bare.client(namespace="default") as client:
        a = await make(client, "a")
        await make(client, "child", a)
        await client.delete(a, propagation=policy)
    async with Cluster(seed=2, snapshot=file) as cluster, cluster.client(namespace="default") as client:
        assert list(await left(cluster, client)) == []
