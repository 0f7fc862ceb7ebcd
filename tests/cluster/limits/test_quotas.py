"""Quotas on an embedded cluster whose controllers run: what is used is counted, and given back."""

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
    "A quota knows what is used, gives back what is deleted, and refuses what would exceed it; a scope that nobody "
    "enforces is refused.",
)
async def test_a_new_quota_counts_what_is_there(cluster: Cluster, client: Client) -> None:
    await client.create(a_secret("a"))
    await client.create(a_pod("p"))
    await client.create(a_quota({"secrets": "5", "pods": "3", "requests.cpu": "1", "count/pods": "9"}))
    assert await used(cluster, client) == {"secrets": "1", "count/pods": "1", "pods": "1", "requests.cpu": "100m"}
    quota = await client.get(core.ResourceQuota, "q")
    assert quota.status.hard == quota.spec.hard


@pytest.mark.promise(
    "The embedded cluster",
    "A quota knows what is used, gives back what is deleted, and refuses what would exceed it; a scope that nobody "
    "enforces is refused.",
)
async def test_what_is_deleted_is_given_back(cluster: Cluster, client: Client) -> None:
    await client.create(a_quota({"secrets": "1"}))
    await cluster.settled()
    await client.create(a_secret("a"))
    with pytest.raises(Forbidden, match="exceeded quota: q, requested: secrets=1, used: secrets=1, limited:"):
        await client.create(a_secret("b"))
    await client.delete(core.Secret, "a")
    assert await used(cluster, client) == {"secrets": "0"}
    await client.create(a_secret("b"))
    assert await used(cluster, client) == {"secrets": "1"}


async def test_a_pod_that_has_ended_needs_nothing_but_is_still_one(cluster: Cluster, client: Client) -> None:
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
    "A quota knows what is used, gives back what is deleted, and refuses what would exceed it; a scope that nobody "
    "enforces is refused.",
)
async def test_a_write_that_fails_after_admission_is_not_counted(cluster: Cluster, client: Client) -> None:
    await client.create(a_quota({"secrets": "2"}))
    await cluster.settled()
    await client.create(a_secret("a"))
    with pytest.raises(ApiError, match="already exists"):
        await client.create(a_secret("a"))
    assert await used(cluster, client) == {"secrets": "1"}


async def test_a_changed_quota_is_counted_anew(cluster: Cluster, client: Client) -> None:
    await client.create(a_secret("a"))
    quota = await client.create(a_quota({"secrets": "2"}))
    assert await used(cluster, client) == {"secrets": "1"}
    quota = await client.get(core.ResourceQuota, "q")
    quota.spec.hard = {"count/secrets": Quantity("7"), "persistentvolumeclaims": Quantity("1")}
    await client.update(quota)
    assert await used(cluster, client) == {"count/secrets": "1", "persistentvolumeclaims": "0"}


async def test_scopes_divide_pods(cluster: Cluster, client: Client) -> None:
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
    "A quota knows what is used, gives back what is deleted, and refuses what would exceed it; a scope that nobody "
    "enforces is refused.",
)
async def test_a_scope_that_nobody_enforces_is_refused(client: Client) -> None:
    with pytest.raises(ApiError, match="does not support quotas with the scope CrossNamespacePodAffinity"):
        await client.create(a_quota({"pods": "5"}, scopes=["CrossNamespacePodAffinity"]))


async def test_counts_are_right_after_a_restart(tmp_path: Path) -> None:
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


async def test_a_deployment_says_why_its_pods_are_missing() -> None:
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
