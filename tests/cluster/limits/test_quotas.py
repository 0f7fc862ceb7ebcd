"""Quotas on an embedded cluster with controllers: usage is counted and reduced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kubewright.api import Quantity, core, meta
from kubewright.client import ApiError, Client, Forbidden
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.workloads import Workloads
from tests.cluster.workloads.conftest import a_deployment


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(clock=VirtualClock(), seed=1) as cluster:
        yield cluster


@pytest_asyncio.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client(namespace="default") as client:
        yield client


def a_quota(hard: dict[str, str], name: str = "q", **spec: Any) -> core.ResourceQuota:
    amounts = {each: Quantity(value) for each, value in hard.items()}
    return core.ResourceQuota(metadata=meta.ObjectMeta(name=name), spec=core.ResourceQuotaSpec(hard=amounts, **spec))


def a_pod(name: str, cpu: str = "100m", **spec: Any) -> core.Pod:
    resources = core.ResourceRequirements(requests={"cpu": Quantity(cpu)})
    container = core.Container(name="c", image="i", resources=resources)
    return core.Pod(metadata=meta.ObjectMeta(name=name), spec=core.PodSpec(containers=[container], **spec))


def a_secret(name: str) -> core.Secret:
    return core.Secret(metadata=meta.ObjectMeta(name=name))


async def used(cluster: Cluster, client: Client, name: str = "q") -> dict[str, str]:
    await cluster.settled()
    quota = await client.get(core.ResourceQuota, name)
    return {key: str(value) for key, value in (quota.status.used or {}).items()}


@pytest.mark.promise(
    "The embedded cluster",
    "Quotas count usage, reduce it on deletion, and reject writes that exceed them; unsupported scopes are rejected.",
)
async def test_new_quota_counts_existing_objects(cluster: Cluster, client: Client) -> None:
    await client.create(a_secret("a"))
    await client.create(a_pod("p"))
    await client.create(a_quota({"secrets": "5", "pods": "3", "requests.cpu": "1", "count/pods": "9"}))
    assert await used(cluster, client) == {"secrets": "1", "count/pods": "1", "pods": "1", "requests.cpu": "100m"}
    quota = await client.get(core.ResourceQuota, "q")
    assert quota.status.hard == quota.spec.hard


@pytest.mark.promise(
    "The embedded cluster",
    "Quotas count usage, reduce it on deletion, and reject writes that exceed them; unsupported scopes are rejected.",
)
async def test_deletion_reduces_usage(cluster: Cluster, client: Client) -> None:
    await client.create(a_quota({"secrets": "1"}))
    await cluster.settled()
    await client.create(a_secret("a"))
    with pytest.raises(Forbidden, match="exceeded quota: q, requested: secrets=1, used: secrets=1, limited:"):
        await client.create(a_secret("b"))
    await client.delete(core.Secret, "a")
    assert await used(cluster, client) == {"secrets": "0"}
    await client.create(a_secret("b"))
    assert await used(cluster, client) == {"secrets": "1"}


async def test_finished_pod_counts_as_object_only(cluster: Cluster, client: Client) -> None:
    await client.create(a_quota({"pods": "1", "requests.cpu": "1", "count/pods": "5"}))
    await cluster.settled()
    pod = await client.create(a_pod("a"))
    assert await used(cluster, client) == {"count/pods": "1", "pods": "1", "requests.cpu": "100m"}
    pod.status.phase = "Succeeded"
    await client.update_status(pod)
    assert await used(cluster, client) == {"count/pods": "1", "pods": "0", "requests.cpu": "0"}
    await client.create(a_pod("b"))


@pytest.mark.promise(
    "The embedded cluster",
    "Quotas count usage, reduce it on deletion, and reject writes that exceed them; unsupported scopes are rejected.",
)
async def test_failed_write_is_not_counted(cluster: Cluster, client: Client) -> None:
    await client.create(a_quota({"secrets": "2"}))
    await cluster.settled()
    await client.create(a_secret("a"))
    with pytest.raises(ApiError, match="already exists"):
        await client.create(a_secret("a"))
    assert await used(cluster, client) == {"secrets": "1"}


async def test_changed_quota_is_recounted(cluster: Cluster, client: Client) -> None:
    await client.create(a_secret("a"))
    quota = await client.create(a_quota({"secrets": "2"}))
    assert await used(cluster, client) == {"secrets": "1"}
    quota = await client.get(core.ResourceQuota, "q")
    quota.spec.hard = {"count/secrets": Quantity("7"), "persistentvolumeclaims": Quantity("1")}
    await client.update(quota)
    assert await used(cluster, client) == {"count/secrets": "1", "persistentvolumeclaims": "0"}


async def test_scopes_select_pods(cluster: Cluster, client: Client) -> None:
    await client.create(a_quota({"pods": "5"}, "ends", scopes=["Terminating"]))
    await client.create(a_quota({"pods": "5"}, "stays", scopes=["NotTerminating"]))
    await client.create(a_quota({"pods": "5"}, "best", scopes=["BestEffort"]))
    important = core.ScopedResourceSelectorRequirement(scope_name="PriorityClass", operator="In", values=["high"])
    selector = core.ScopeSelector(match_expressions=[important])
    await client.create(a_quota({"pods": "5"}, "important", scope_selector=selector))
    await cluster.settled()
    await client.create(a_pod("a", active_deadline_seconds=5))
    await client.create(a_pod("b"))
    await client.create(a_pod("c"))
    found = {name: (await used(cluster, client, name))["pods"] for name in ("ends", "stays", "best", "important")}
    assert found == {"ends": "1", "stays": "2", "best": "0", "important": "0"}


@pytest.mark.promise(
    "The embedded cluster",
    "Quotas count usage, reduce it on deletion, and reject writes that exceed them; unsupported scopes are rejected.",
)
async def test_rejects_unsupported_scope(client: Client) -> None:
    with pytest.raises(ApiError, match="does not support quotas with the scope CrossNamespacePodAffinity"):
        await client.create(a_quota({"pods": "5"}, scopes=["CrossNamespacePodAffinity"]))


async def test_usage_is_correct_after_restart(tmp_path: Path) -> None:
    snapshot = tmp_path / "state"
    async with Cluster(snapshot=snapshot) as cluster, cluster.client(namespace="default") as client:
        await client.create(a_quota({"secrets": "2"}))
        await cluster.settled()
        await client.create(a_secret("a"))
    async with Cluster(snapshot=snapshot) as cluster, cluster.client(namespace="default") as client:
        await client.create(a_secret("b"))
        assert await used(cluster, client) == {"secrets": "2"}
        with pytest.raises(Forbidden, match="exceeded quota"):
            await client.create(a_secret("c"))


async def test_deployment_reports_exceeded_quota() -> None:
    clock = VirtualClock()
    async with (
        Cluster(clock=clock, seed=1, workloads=Workloads()) as cluster,
        cluster.client(namespace="default") as client,
    ):
        await client.create(a_quota({"pods": "1"}))
        await cluster.settled()
        await client.create(a_deployment(replicas=2))
        await clock.advance(5)
        await clock.settled()
        assert len(await client.list(core.Pod)) == 1
        events = [event.message or "" for event in await client.list(core.Event) if event.reason == "FailedCreate"]
        assert any("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in text for text in events)
