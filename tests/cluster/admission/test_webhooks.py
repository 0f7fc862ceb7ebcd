"""Webhooks of the embedded cluster: addresses, connections and configurations."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from kubewright.cluster import Cluster
from tests.client.http_server import serving
from tests.cluster.admission.hooks import HookServer
from tests.cluster.conftest import Raw

MAPS = "/api/v1/namespaces/default/configmaps"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def configuration(**changes: Any) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [rule]}
    return {"metadata": {"name": "hooks"}, "webhooks": [{**hook, **changes}]}


def behind_a_service(hooks: HookServer) -> dict[str, Any]:
    service = {"namespace": "default", "name": "hooks", "path": "/deny"}
    return configuration(clientConfig={"service": service, "caBundle": hooks.bundle})


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A Service is called at its configured address; simulated pods are not called.",
)
async def test_service_uses_the_configured_address(hooks: HookServer) -> None:
    hooks.behaviors["deny"] = {"allowed": False, "status": {"message": "not today"}}
    async with Cluster(services={"default/hooks": hooks.address}, controllers=False) as cluster:
        raw = Raw(cluster.transport())
        await raw("POST", CONFIGURATIONS, behind_a_service(hooks))
        refused = await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert refused.body["message"] == 'admission webhook "a.example.com" denied the request: not today'


async def test_resolves_service_while_the_cluster_runs(hooks: HookServer, raw: Raw, embedded: Cluster) -> None:
    hooks.behaviors["deny"] = {"allowed": False}
    await raw("POST", CONFIGURATIONS, behind_a_service(hooks))
    before = await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert before.body["message"].endswith('service "hooks" not found')
    embedded.resolve_service("default", "hooks", hooks.address)
    after = await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert after.body["message"] == 'admission webhook "a.example.com" denied the request without explanation'


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "A Service is called at its configured address; simulated pods are not called.",
)
async def test_service_backed_by_simulated_pods_is_not_called(hooks: HookServer, raw: Raw) -> None:
    await raw(
        "POST",
        "/api/v1/namespaces/default/services",
        {"metadata": {"name": "hooks"}, "spec": {"ports": [{"port": 443}]}},
    )
    piece = {
        "metadata": {"name": "hooks-1", "labels": {"kubernetes.io/service-name": "hooks"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 9443}],
        "endpoints": [{"addresses": ["203.0.113.7"]}],
    }
    await raw("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", piece)
    await raw("POST", CONFIGURATIONS, behind_a_service(hooks))
    failed = await raw("POST", MAPS, {"metadata": {"name": "a"}})
    url = "https://hooks.default.svc:443/deny?timeout=10s"
    assert failed.body["message"].startswith(
        'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: '
        f'Post "{url}": nothing listens at 203.0.113.7:9443, the endpoint of service "hooks": pods of the embedded'
    )


async def test_deleted_configuration_stops_webhook_calls(hooks: HookServer, raw: Raw) -> None:
    hooks.behaviors["deny"] = {"allowed": False}
    config = {"url": f"{hooks.url}/deny", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 400
    await raw("DELETE", f"{CONFIGURATIONS}/hooks")
    assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 201


async def test_reads_long_response_completely(hooks: HookServer, raw: Raw) -> None:
    long = "x" * 500_000
    hooks.behaviors["long"] = {"allowed": False, "status": {"message": long}}
    config = {"url": f"{hooks.url}/long", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    refused = await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert refused.body["message"] == f'admission webhook "a.example.com" denied the request: {long}'


@pytest.mark.promise("Webhooks of the embedded cluster", "Certificates are verified.")
async def test_rejects_certificate_for_another_name(hooks: HookServer) -> None:
    async with Cluster(services={"default/other": hooks.address}, controllers=False) as cluster:
        raw = Raw(cluster.transport())
        config = {"service": {"namespace": "default", "name": "other"}, "caBundle": hooks.bundle}
        await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
        failed = await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert "tls: failed to verify certificate: x509: " in failed.body["message"]
    assert hooks.received == {}


async def test_trusts_the_certificate_of_the_server_as_its_bundle(hooks: HookServer, raw: Raw) -> None:
    """envtest puts the certificate itself into `caBundle`, which Go accepts as a root."""
    config = {"url": f"{hooks.url}/see", "caBundle": base64.b64encode(hooks.certificate).decode()}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    assert len(hooks.received["see"]) == 1


@pytest.mark.parametrize("path", ["//see", "/see/", "/a/../see", "/./see"])
async def test_cleans_the_path_of_a_webhook(hooks: HookServer, raw: Raw, path: str) -> None:
    """Go servers redirect unclean paths; envtest writes `//see`."""
    config = {"url": f"{hooks.url}{path}", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    assert len(hooks.received["see"]) == 1


async def test_reconnects_to_restarted_webhook_server(hooks: HookServer, raw: Raw) -> None:
    config = {"url": f"{hooks.url}/see", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    hooks.cut()
    assert (await raw("POST", MAPS, {"metadata": {"name": "b"}})).status == 201
    assert len(hooks.received["see"]) == 2


async def test_first_request_after_a_webhook_server_starts_reaches_it(hooks: HookServer, raw: Raw) -> None:
    hooks.behaviors["deny"] = {"allowed": False, "status": {"message": "not today"}}
    config = {"url": f"{hooks.url}/deny", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    for _ in range(2):
        assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 400
        await hooks.__aexit__()
        for _ in range(3):
            failed = await raw("POST", MAPS, {"metadata": {"name": "a"}})
            reason = f"dial tcp {hooks.address}: connect: connection refused"
            assert failed.body["message"].endswith(f'Post "{hooks.url}/deny?timeout=10s": {reason}')
        await hooks.__aenter__()
    assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 400


async def test_ignored_failures_do_not_delay_the_first_call(hooks: HookServer, raw: Raw) -> None:
    hooks.behaviors["deny"] = {"allowed": False}
    config = {"url": f"{hooks.url}/deny", "caBundle": hooks.bundle}
    await hooks.__aexit__()
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config, failurePolicy="Ignore"))
    for name in "abc":
        assert (await raw("POST", MAPS, {"metadata": {"name": name}})).status == 201
    await hooks.__aenter__()
    assert (await raw("POST", MAPS, {"metadata": {"name": "d"}})).status == 400


@pytest.mark.promise(
    "Webhooks of the embedded cluster",
    "The next write after a webhook server starts, restarts or changes its certificate reaches it.",
)
async def test_first_request_after_a_new_certificate_and_bundle_reaches_the_server(raw: Raw, tmp_path: Path) -> None:
    servers = []
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        servers.append(HookServer(tmp_path / name))
    old, new = servers
    async with old:
        body = configuration(clientConfig={"url": f"{old.url}/see", "caBundle": old.bundle})
        await raw("POST", CONFIGURATIONS, body)
        assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    new.port = old.port
    async with new:
        failed = await raw("POST", MAPS, {"metadata": {"name": "b"}})
        assert failed.body["message"].endswith("x509: certificate signed by unknown authority")
        body["webhooks"][0]["clientConfig"]["caBundle"] = new.bundle
        stored = (await raw("GET", f"{CONFIGURATIONS}/hooks")).body["metadata"]
        body["metadata"]["resourceVersion"] = stored["resourceVersion"]
        assert (await raw("PUT", f"{CONFIGURATIONS}/hooks", body)).status == 200
        assert (await raw("POST", MAPS, {"metadata": {"name": "b"}})).status == 201
        assert len(new.received["see"]) == 1


async def test_a_certificate_of_the_same_authority_is_used_without_a_change(hooks: HookServer, raw: Raw) -> None:
    config = {"url": f"{hooks.url}/see", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    assert (await raw("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    await hooks.__aexit__()
    hooks.renew()
    await hooks.__aenter__()
    assert (await raw("POST", MAPS, {"metadata": {"name": "b"}})).status == 201
    assert len(hooks.received["see"]) == 2


async def test_calls_to_one_webhook_share_a_connection(hooks: HookServer, raw: Raw) -> None:
    config = {"url": f"{hooks.url}/see", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    for name in "abc":
        assert (await raw("POST", MAPS, {"metadata": {"name": name}})).status == 201
    assert len(hooks.received["see"]) == 3
    assert len(hooks.peers) == 1


async def test_service_name_is_the_host_of_a_call(hooks: HookServer) -> None:
    async with Cluster(services={"default/hooks": hooks.address}, controllers=False) as cluster:
        raw = Raw(cluster.transport())
        await raw("POST", CONFIGURATIONS, behind_a_service(hooks))
        await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert hooks.hosts == ["hooks.default.svc:443"]


async def test_reports_webhook_server_without_tls(raw: Raw, hooks: HookServer) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with serving(plain) as address:
        url = address.replace("http:", "https:")
        config = {"url": f"{url}/see", "caBundle": hooks.bundle}
        await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
        failed = await raw("POST", MAPS, {"metadata": {"name": "a"}})
    assert failed.body["message"].endswith(": http: server gave HTTP response to HTTPS client")


async def test_immediate_pod_deletion_calls_webhooks_twice(hooks: HookServer, raw: Raw) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
    config = {"url": f"{hooks.url}/see", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config, rules=[rule]))
    pods = "/api/v1/namespaces/default/pods"
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert (await raw("POST", pods, pod)).status == 201
    assert (await raw("DELETE", f"{pods}/p")).status == 200
    marked = ["deletionTimestamp" in review["request"]["oldObject"]["metadata"] for review in hooks.received["see"]]
    graces = [review["request"]["options"]["gracePeriodSeconds"] for review in hooks.received["see"]]
    assert (marked, graces) == ([False, True], [0, 0])


async def test_review_contains_the_user(hooks: HookServer, raw: Raw) -> None:
    config = {"url": f"{hooks.url}/see", "caBundle": hooks.bundle}
    await raw("POST", CONFIGURATIONS, configuration(clientConfig=config))
    await raw("POST", MAPS, {"metadata": {"name": "a"}})
    [review] = hooks.received["see"]
    groups = ["system:masters", "system:authenticated"]
    assert review["request"]["userInfo"] == {"username": "kubewright-admin", "groups": groups}


async def test_rejects_match_conditions_without_evaluator(raw: Raw, embedded: Cluster) -> None:
    embedded.state.admission.conditions = None
    conditions = [{"name": "a", "expression": "true"}]
    answer = await raw(
        "POST", CONFIGURATIONS, configuration(clientConfig={"url": "https://a"}, matchConditions=conditions)
    )
    assert (answer.status, answer.body["message"]) == (
        501,
        "the embedded cluster does not support match conditions of webhooks: it has no CEL",
    )
