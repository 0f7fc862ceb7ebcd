"""Namespaces of the embedded cluster: their default objects, and their deletion."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubewright.api import apps, core, meta
from kubewright.client import Client, Forbidden, MergePatch
from kubewright.cluster import Cluster


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(seed=1) as started:
        yield started


@pytest_asyncio.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client(namespace="work") as opened:
        await opened.create(core.Namespace(metadata=meta.ObjectMeta(name="work")))
        await cluster.settled()
        yield opened


async def test_namespace_has_service_account_and_ca_certificate(client: Client) -> None:
    for name in ("work", "default", "kube-system"):
        assert (await client.get(core.ServiceAccount, "default", name)).metadata.uid
        assert "ca.crt" in ((await client.get(core.ConfigMap, "kube-root-ca.crt", name)).data or {})


@pytest.mark.promise(
    "The embedded cluster",
    "Every namespace has the cluster's CA certificate once it is served; deleted or changed ones are restored.",
)
async def test_restores_ca_certificate_in_every_namespace(cluster: Cluster, client: Client) -> None:
    """Covers namespaces that existed before, and deleted or changed ConfigMaps."""
    secret = core.Secret(
        metadata=meta.ObjectMeta(name="token", annotations={"kubernetes.io/service-account.name": "default"}),
        type="kubernetes.io/service-account-token",
    )
    await client.create(secret)
    await cluster.serve()

    async def published(name: str) -> core.ConfigMap:
        await cluster.settled()
        found = await client.get(core.ConfigMap, "kube-root-ca.crt", name)
        assert found.data == {"ca.crt": cluster.state.ca_certificate}
        assert "BEGIN CERTIFICATE" in found.data["ca.crt"]
        return found

    for name in ("default", "kube-system", "kube-public"):
        await published(name)
    before = await published("work")
    assert "ca.crt" in ((await client.get(core.Secret, "token")).data or {})
    await client.delete(before)
    assert (await published("work")).metadata.uid != before.metadata.uid
    await client.patch(core.ConfigMap, "kube-root-ca.crt", MergePatch({"data": {"ca.crt": "mine", "x": "y"}}))
    await published("work")
    await client.delete(core.Namespace, "work")
    await cluster.settled()
    assert await client.find(core.Namespace, "work") is None


async def test_recreates_deleted_service_account(cluster: Cluster, client: Client) -> None:
    before = await client.get(core.ServiceAccount, "default")
    await client.delete(before)
    await cluster.settled()
    assert (await client.get(core.ServiceAccount, "default")).metadata.uid != before.metadata.uid


@pytest.mark.promise("The embedded cluster", "A namespace is deleted with its content, and waits for finalizers.")
async def test_deletes_namespace_with_its_content(cluster: Cluster, client: Client) -> None:
    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="a")))
    await client.delete(core.Namespace, "work")
    await cluster.settled()
    assert await client.find(core.Namespace, "work") is None
    assert list(await client.list(core.ConfigMap, namespace="work")) == []
    assert await client.find(core.ServiceAccount, "default", "work") is None
    assert await client.find(core.Namespace, "default") is not None


@pytest.mark.promise("The embedded cluster", "A namespace is deleted with its content, and waits for finalizers.")
async def test_namespace_waits_for_finalizers(cluster: Cluster, client: Client) -> None:
    await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="a", finalizers=["example.com/hold"])))
    await client.delete(core.Namespace, "work")
    await cluster.settled()
    namespace = await client.get(core.Namespace, "work")
    assert namespace.status is not None
    assert namespace.status.phase == "Terminating"
    with pytest.raises(Forbidden, match="is being terminated"):
        await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="b")))
    await client.patch(core.ConfigMap, "a", MergePatch({"metadata": {"finalizers": None}}))
    await cluster.settled()
    assert await client.find(core.Namespace, "work") is None


async def test_namespace_can_be_recreated(cluster: Cluster, client: Client) -> None:
    await client.delete(core.Namespace, "work")
    await cluster.settled()
    await client.create(core.Namespace(metadata=meta.ObjectMeta(name="work")))
    await cluster.settled()
    assert await client.find(core.ServiceAccount, "default", "work") is not None
    assert await client.find(apps.Deployment, "none", "work") is None
