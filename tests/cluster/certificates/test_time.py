"""Certificates expire, and old requests are deleted, by the cluster's clock."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubewright.clock import Clock, VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.access import user_named
from tests.cluster.certificates.requester import REQUESTS, Requester, asked, certificate_of, credentials_of
from tests.cluster.conftest import Raw

CLIENT = "kubernetes.io/kube-apiserver-client"
HOUR = 3600.0


@pytest.fixture
def cluster_clock() -> Clock:
    return VirtualClock()


@pytest.fixture
def clock(cluster_clock: VirtualClock) -> VirtualClock:
    return cluster_clock


@pytest_asyncio.fixture
async def raw(cluster: Cluster) -> AsyncIterator[Raw]:
    yield Raw(cluster.transport())


async def created(raw: Raw, name: str, signer: str = CLIENT, **spec: object) -> None:
    spec = {"request": asked("jane").encoded, "signerName": signer, "usages": ["client auth"], **spec}
    got = await raw("POST", REQUESTS, {"metadata": {"name": name}, "spec": spec})
    assert got.status == 201, got.body


async def decide(raw: Raw, name: str, decision: str = "Approved") -> None:
    body = {"status": {"conditions": [{"type": decision, "status": "True"}]}}
    got = await raw("PATCH", f"{REQUESTS}/{name}/approval", body, type="application/merge-patch+json")
    assert got.status == 200, got.body


async def names(raw: Raw) -> list[str]:
    return [item["metadata"]["name"] for item in (await raw("GET", REQUESTS)).body["items"]]


async def test_an_expired_certificate_is_refused(requester: Requester, clock: VirtualClock) -> None:
    request = asked("jane")
    name = await requester.create(request, signerName=CLIENT, usages=["client auth"], expirationSeconds=600)
    await requester.approve(name)
    found = await requester.until(name, lambda status: "certificate" in status)
    credentials = credentials_of(request, certificate_of(found))
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    assert (await requester.send("POST", path, {}, credentials=credentials))[0] == 201

    await clock.advance(601)

    status, refused = await requester.send("POST", path, {}, credentials=credentials)
    assert (status, refused["reason"]) == (401, "Unauthorized")
    assert (await requester.send("POST", path, {}))[0] == 201  # the administrator's certificate is still valid


async def test_decided_requests_are_deleted_after_an_hour_and_pending_ones_after_a_day(
    raw: Raw, cluster: Cluster, clock: VirtualClock
) -> None:
    await created(raw, "pending", "example.com/a")
    await created(raw, "unsigned", "example.com/a")
    await decide(raw, "unsigned")
    await created(raw, "signed")
    await decide(raw, "signed")
    await created(raw, "failed", usages=["server auth"])
    await decide(raw, "failed")
    await created(raw, "denied")
    await decide(raw, "denied", "Denied")

    await clock.advance(HOUR - 1)
    await cluster.settled()
    assert await names(raw) == ["denied", "failed", "pending", "signed", "unsigned"]

    await clock.advance(HOUR + 1)
    await cluster.settled()
    assert await names(raw) == ["pending", "unsigned"]

    await clock.advance(24 * HOUR)
    await cluster.settled()
    assert await names(raw) == []


async def test_requests_of_a_snapshot_are_signed_and_deleted(tmp_path: object) -> None:
    path, clock = f"{tmp_path}/snapshot", VirtualClock()
    async with Cluster(clock=clock, controllers=False, snapshot=path) as cluster:
        raw = Raw(cluster.transport())
        await created(raw, "a")
        await decide(raw, "a")
        assert "certificate" not in (await raw("GET", f"{REQUESTS}/a")).body["status"]

    async with Cluster(clock=clock, snapshot=path) as cluster:
        raw = Raw(cluster.transport())
        await cluster.settled()
        assert "certificate" in (await raw("GET", f"{REQUESTS}/a")).body["status"]
        await clock.advance(2 * HOUR)
        await cluster.settled()
        assert await names(raw) == []


async def test_a_later_role_approves_a_waiting_kubelet(raw: Raw, cluster: Cluster) -> None:
    node = Raw(cluster.transport(user_named("system:node:n")))
    rules = [{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create"]}]
    await grant(raw, "creator", rules)
    request = asked("system:node:n", ["system:nodes"])
    spec = {"request": request.encoded, "usages": ["client auth", "digital signature"]}
    signer = "kubernetes.io/kube-apiserver-client-kubelet"
    body = {"metadata": {"name": "a"}, "spec": {**spec, "signerName": signer}}
    assert (await node("POST", REQUESTS, body)).status == 201
    await cluster.settled()
    assert (await raw("GET", f"{REQUESTS}/a")).body["status"] == {}

    rules[0]["resources"] = ["certificatesigningrequests/selfnodeclient"]
    await grant(raw, "approver", rules)
    await cluster.settled()

    assert "certificate" in (await raw("GET", f"{REQUESTS}/a")).body["status"]


async def grant(raw: Raw, name: str, rules: list[dict[str, list[str]]]) -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1"
    assert (await raw("POST", f"{roles}/clusterroles", {"metadata": {"name": name}, "rules": rules})).status == 201
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:node:n"}],
    }
    assert (await raw("POST", f"{roles}/clusterrolebindings", binding)).status == 201
