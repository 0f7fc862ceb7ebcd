"""The audit log, compared with kube-apiserver's own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from kubewright.api import core
from kubewright.client import (
    ApiError,
    Client,
    ClientConfig,
    Credentials,
    Impersonation,
    Request,
    RetryPolicy,
    load_config,
)
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, ClusterError, User
from kubewright.testing import ControlPlane
from tests.cluster.conftest import Raw

ONCE = RetryPolicy(attempts=1)
MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
SECRET = "czNjcmV0LXZhbHVl"  # as encoded in a body


def events_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


async def try_requests(config: ClientConfig) -> str:
    """Sends requests of every verb, as several users. Returns the token that was issued for one of them."""
    async with Client(config, user_agent="audit-test", retry=ONCE) as client:
        for method, path, body in [
            ("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "a"}}),
            ("POST", MAPS, {"metadata": {"name": "a"}, "data": {"secret": SECRET}}),
            ("POST", MAPS, {"metadata": {"name": "a"}}),
            ("POST", MAPS, {"metadata": {"generateName": "gen-"}}),
            ("POST", MAPS, {"metadata": {"name": "B_"}}),
            ("GET", f"{MAPS}/a", None),
            ("GET", f"{MAPS}/nope", None),
            ("GET", f"{MAPS}?limit=1&labelSelector=a%3Db,c", None),
            ("GET", f"{MAPS}?fieldSelector=metadata.name%3Da", None),
            ("PUT", f"{MAPS}/a", {"metadata": {"name": "a", "resourceVersion": "1"}}),
            ("PATCH", f"{MAPS}/a", {"data": {"x": "y"}}),
            ("DELETE", f"{MAPS}/a", None),
            ("DELETE", MAPS, None),
            ("GET", "/version", None),
            ("GET", "/api", None),
            ("GET", "/nope", None),
            ("GET", "/apis/nope.example.com/v1/foos", None),
            ("GET", "/api/v1/foos", None),
            ("GET", "/api/v1/namespaces/default", None),
            ("PATCH", "/api/v1/namespaces/default/status", {}),
            ("POST", ACCOUNTS, {"metadata": {"name": "robot"}}),
        ]:
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            await attempt(client, method, path, body, kind)
        token = (await client.create_token("robot", "default")).status.token or ""
        stream = await client.open_watch(core.ConfigMap, "default", timeout_seconds=1)
        async for _ in stream.batches():
            pass
    for credentials, impersonated in [
        (Credentials(token=token), None),
        (Credentials(token="unknown-token"), None),
        (Credentials(), None),
        (config.credentials, Impersonation(user="jane", groups=("devs",))),
    ]:
        other = replace(config, credentials=credentials, impersonate=impersonated)
        async with Client(other, user_agent="audit-test/" + "x" * 1100, retry=ONCE) as client:
            await attempt(client, "GET", MAPS)
            await attempt(client, "GET", "/version")
    return token


async def attempt(client: Client, method: str, path: str, body: Any = None, kind: str = "application/json") -> None:
    bare, _, query = path.partition("?")
    pairs = dict(part.split("=", 1) for part in query.replace("%3D", "=").split("&")) if query else None
    with contextlib.suppress(ApiError):
        await client.request(method, bare, query=pairs, body=body, content_type=kind)


def comparable(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the events of the requests without times, ids and values that depend on the server's credentials."""
    found = [event for event in events if event.get("userAgent", "").startswith("audit-test")]
    for event in found:
        assert event["requestReceivedTimestamp"] <= event["stageTimestamp"]
        assert len(event["requestReceivedTimestamp"]) == len("2026-01-01T00:00:00.000000Z")
        for name in ("auditID", "requestReceivedTimestamp", "stageTimestamp"):
            assert event.pop(name)
        event["user"].pop("extra", None)
        event["user"].pop("uid", None)
        (event["responseStatus"].get("details") or {}).pop("uid", None)
        annotations = event.get("annotations", {})
        annotations.pop("authentication.kubernetes.io/issued-credential-id", None)
        # Several bindings may allow a request. The real server names the first one that it evaluates.
        if (reason := annotations.get("authorization.k8s.io/reason", "")).startswith("RBAC: allowed by"):
            annotations["authorization.k8s.io/reason"] = reason.partition(' "')[0]
    # The end of a watch may be logged before or after the next request.
    return sorted(found, key=lambda event: json.dumps(event, sort_keys=True))


@pytest.fixture(scope="module")
def real_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ControlPlane, Path]]:
    folder = tmp_path_factory.mktemp("audit")
    policy, log = folder / "policy.json", folder / "audit.log"
    policy.write_text(json.dumps(POLICY))
    flags = {"audit-policy-file": str(policy), "audit-log-path": str(log)}
    with ControlPlane(apiserver_flags=flags) as plane:
        yield plane, log


@pytest_asyncio.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[Cluster, Path]]:
    log = tmp_path / "audit.log"
    async with Cluster(rbac=True, audit_log=log) as cluster:
        await cluster.serve()
        yield cluster, log


@pytest.mark.control_plane
async def test_events_equal_those_of_kube_apiserver(
    served: tuple[Cluster, Path], real_log: tuple[ControlPlane, Path]
) -> None:
    cluster, log = served
    plane, expected = real_log
    await try_requests(load_config(kubeconfig=cluster.kubeconfig()))
    await try_requests(load_config(kubeconfig=plane.kubeconfig))
    assert comparable(events_in(log)) == comparable(events_in(expected))


async def test_log_contains_neither_bodies_nor_tokens(served: tuple[Cluster, Path]) -> None:
    cluster, log = served
    token = await try_requests(load_config(kubeconfig=cluster.kubeconfig()))
    text = log.read_text()
    assert token
    for secret in (token, token.split(".")[1], cluster.token, "unknown-token", SECRET):
        assert secret not in text


async def test_errors_about_secrets_are_logged_without_their_message(raw: Raw, tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    async with Cluster(audit_log=log) as cluster:
        answer = await Raw(cluster.transport())(
            "POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "S_"}, "stringData": {"a": SECRET}}
        )
        assert answer.status == 422
    event = next(each for each in events_in(log) if each.get("userAgent") == "test/1")
    assert event["responseStatus"] == {"metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422}


async def test_watch_is_logged_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    log, clock = tmp_path / "audit.log", VirtualClock()
    async with Cluster(audit_log=log, clock=clock, controllers=False) as cluster:
        raw = Raw(cluster.transport())
        response = await raw.open("GET", f"{MAPS}?watch=true&timeoutSeconds=5", headers={"Audit-ID": "mine"})
        assert [event["stage"] for event in events_in(log)] == ["ResponseStarted"]
        assert response.headers["Audit-Id"] == "mine"
        await clock.advance(5)
        await asyncio.sleep(0)
        assert [event["stage"] for event in events_in(log)] == ["ResponseStarted", "ResponseComplete"]
        assert {event["auditID"] for event in events_in(log)} == {"mine"}
        response.close()
    assert len(events_in(log)) == 2


async def test_token_in_a_query_is_hidden(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    async with Cluster(audit_log=log, controllers=False) as cluster:
        await Raw(cluster.transport())("GET", "/version?a=b&access_token=s3cret")
    assert [event["requestURI"] for event in events_in(log)] == ["/version?a=b&access_token=(hidden)"]


async def test_forwarded_addresses_come_before_the_peer(served: tuple[Cluster, Path]) -> None:
    cluster, log = served
    headers = {"X-Forwarded-For": "192.0.2.1, nonsense", "X-Real-Ip": "192.0.2.2"}
    request = Request(method="GET", path="/version", headers=headers)
    await cluster.dispatcher.handle(request, User("jane"), source="192.0.2.3")
    assert events_in(log)[-1]["sourceIPs"] == ["192.0.2.1", "192.0.2.2", "192.0.2.3"]


async def test_cluster_does_not_start_without_its_audit_log(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"cannot write the audit log .*No such file or directory; choose a file"):
        await Cluster(audit_log=tmp_path / "none" / "audit.log").start()
