"""Metrics and debug pages over HTTPS, for clients that the API server authorizes; probes for every client."""

from __future__ import annotations

import asyncio
import logging
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import core
from kubewright.certificates import CertificateAuthority
from kubewright.client import Client, ConnectionLost, Request
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.controller import Context
from kubewright.key_pair import KeyPair
from kubewright.operator import Operator, Options, Running, SettingError
from kubewright.operator.endpoints import SelfSignedCertificate, fingerprint_of, issue, issue_in_child, sites_of
from kubewright.testing import RealCluster, operator_client
from kubewright.webhook._tls import rejection_reason  # private: judges a key pair without serving it
from tests.operator.page_clients import account, fetch, grant, made, may_get
from tests.patience import PATIENCE, until
from tests.transports.disturbed import Disturbed, NoServer


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"controllers": False, "rbac": True}


@pytest.fixture
async def running(
    cluster: Cluster | RealCluster, namespace: str, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Running]:
    """An operator with its own roles alone, that serves secure metrics and debug pages."""
    caplog.set_level(logging.DEBUG)
    operator = made(namespace)
    operator.settings = operator.settings_with(
        metrics_bind="127.0.0.1:0", metrics_secure=True, health_bind="127.0.0.1:0", debug_pages=True
    )
    client = await operator_client(cluster, operator, namespace)
    async with client, operator.running(client, install_crds=False) as found:
        yield found


@pytest.mark.promise(
    "Watching an operator",
    "Outside of loopback, metrics are HTTPS for clients that the API server authorizes; probes are for every client.",
)
@pytest.mark.clusters
async def test_serves_metrics_to_authorized_clients_alone(
    running: Running, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    probes, metrics = (server.port for server in running.servers)
    assert (await fetch(probes, "/healthz", tls=False)).status == 200
    assert (await fetch(probes, "/readyz", tls=False)).status == 200

    anonymous = await fetch(metrics, "/metrics")
    assert (anonymous.status, "WWW-Authenticate: Bearer" in anonymous.headers) == (401, True)
    assert (await fetch(metrics, "/metrics", "made.up.token")).status == 401

    stranger, reader = await account(client, namespace, "stranger"), await account(client, namespace, "reader")
    await grant(client, namespace, "reader", may_get("/metrics"))
    refused = await fetch(metrics, "/metrics", stranger)
    assert refused.status == 403
    assert f"system:serviceaccount:{namespace}:stranger may not get /metrics" in refused.body
    assert f"{running.operator.name}-metrics-reader" in refused.body

    async def scraped() -> str:
        answer = await fetch(metrics, "/metrics", reader)
        return answer.body if answer.status == 200 else ""

    assert "controller_runtime_reconcile_total" in await until(scraped)
    assert (await fetch(metrics, "/debug/kubewright", reader)).status == 403
    for token in (stranger, reader, "made.up.token"):
        assert token not in caplog.text


@pytest.mark.clusters("embedded")
async def test_servers_know_the_certificate_that_they_serve(running: Running) -> None:
    plain, secure = running.servers
    assert plain.certificate is None
    served = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", secure.port))
    assert (secure.certificate or b"").decode() == served


@pytest.mark.clusters
async def test_serves_debug_pages_with_own_permission(running: Running, client: Client, namespace: str) -> None:
    probes, secure = (server.port for server in running.servers)
    token = await account(client, namespace, "curious")
    await grant(client, namespace, "curious", may_get("/debug/kubewright"))

    async def asked() -> str:
        answer = await fetch(secure, "/debug/kubewright/objects", token)
        return answer.body if answer.status == 200 else ""

    assert '"objects"' in await until(asked)
    assert (await fetch(secure, "/metrics", token)).status == 403
    assert (await fetch(secure, "/debug/kubewright")).status == 401
    assert (await fetch(probes, "/debug/kubewright", tls=False)).status == 200  # which is on loopback


@pytest.mark.promise(
    "Watching an operator",
    "An operator that may not review tokens logs it at the start, and answers 503 with the missing permission.",
)
@pytest.mark.clusters
async def test_without_permission_to_review_says_so_at_start_and_to_clients(
    cluster: Cluster | RealCluster, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    operator = made(namespace)
    account_of_operator = await operator_client(cluster, operator, namespace)  # with the roles of plain metrics
    token = await account(client, namespace, "reader")
    expected = (
        "/metrics answers 503: this account may not create tokenreviews.authentication.k8s.io and create"
        f" subjectaccessreviews.authorization.k8s.io. Bind a ClusterRole that allows both, such as the generated"
        f" {operator.name}-metrics-auth; or serve plain HTTP to every client: --no-metrics-secure"
    )
    bound: Options = {
        "metrics_bind": "127.0.0.1:0",
        "metrics_secure": True,
        "health_bind": "127.0.0.1:0",
        "install_crds": False,
    }
    async with account_of_operator, operator.running(account_of_operator, **bound) as running:

        async def logged_messages() -> bool:
            return expected in caplog.messages

        await until(logged_messages)
        probes, metrics = (server.port for server in running.servers)
        answer = await fetch(metrics, "/metrics", token)
        assert (answer.status, answer.body) == (503, f"{expected}\n")
        assert (await fetch(probes, "/readyz", tls=False)).status == 200


async def test_answers_503_without_details_while_api_server_is_away(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    def lose_reviews(request: Request) -> None:
        if away and request.path.endswith("/tokenreviews"):
            raise ConnectionLost("connection to 10.0.0.1:443 refused", sent=False)

    away, operator = True, made("default")
    options: Options = {"metrics_bind": "127.0.0.1:0", "metrics_secure": True}
    token = await account(cluster.client(), "default", "reader")
    client = cluster.client().through(lambda inner: Disturbed(inner, lose_reviews))
    async with operator.running(client, **options) as running:
        [server] = running.servers
        for other in (token, f"{token}x"):
            answer = await fetch(server.port, "/metrics", other)
            assert (answer.status, "10.0.0.1" in answer.body) == (503, False)
            assert "cannot review tokens now; the reason is in the log of the operator" in answer.body
        away = False
        assert (await fetch(server.port, "/metrics", "made.up.token")).status == 401
    logged = [line for line in caplog.messages if "token reviews fail" in line]
    assert len(logged) == 1
    assert "connection to 10.0.0.1:443 refused" in logged[0]
    assert token not in caplog.text


@pytest.mark.promise("Watching an operator", "The certificate of metrics is renewed without a restart.")
async def test_presents_certificate_of_folder_and_follows_its_renewal(tmp_path: Path, cluster: Cluster) -> None:
    authority = CertificateAuthority()

    def write(name: str) -> None:
        pair = authority.issue(name, hosts=["localhost"])
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / "tls.key").write_bytes(pair.key)

    clock = VirtualClock()
    operator = Operator("renewed", clock=clock)

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    async def presented(port: int) -> str:
        answer = await fetch(port, "/metrics", trusted=authority.pair.certificate)
        assert answer.status == 401
        context = ssl.create_default_context(cadata=authority.pair.certificate.decode())
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
        subject = writer.get_extra_info("peercert")["subject"]
        writer.close()
        return str(subject[-1][0][1])

    write("first")
    options: Options = {"metrics_bind": "127.0.0.1:0", "metrics_secure": True, "metrics_cert_path": str(tmp_path)}
    async with cluster.client() as client, operator.running(client, **options) as running:
        [server] = running.servers
        assert await presented(server.port) == "first"
        write("second")
        await clock.advance(10)
        assert await presented(server.port) == "second"


@pytest.mark.promise("Watching an operator", "The certificate of metrics is renewed without a restart.")
async def test_renews_self_signed_certificate_before_it_expires(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kubewright.operator")
    clock = VirtualClock()

    async def here(name: str, now: datetime) -> KeyPair:
        return issue(name, now)

    async with SelfSignedCertificate("mine", clock, here) as source:
        first = source.pair
        await clock.advance(59 * 86_400)
        assert source.pair is first
        await clock.advance(2 * 86_400)
        second = source.pair
        assert second is not first
        assert source.expires > clock.now() + timedelta(days=88)
    for one, said in zip((first, second), caplog.messages, strict=True):
        assert fingerprint_of(one.certificate) in said
    assert "PRIVATE KEY" not in caplog.text


def test_makes_certificate_without_cryptography_in_memory() -> None:
    """In a process of its own, in which no other test has imported it."""
    program = """
import asyncio, datetime, sys
from kubewright.operator.endpoints import SelfSignedCertificate
from kubewright.clock import SystemClock
from kubewright.webhook import serving_context
async def main():
    async with SelfSignedCertificate("mine", SystemClock()) as source:
        serving_context(source)
    print("cryptography" in sys.modules)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("executable", ["", "/nonexistent/python", "/bin/false", "/bin/true"])
async def test_makes_certificate_here_if_no_process_can_be_started(
    executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    pair = await issue_in_child("mine", datetime.now(UTC))
    assert rejection_reason(pair) is None


@pytest.mark.promise(
    "Watching an operator",
    "Outside of loopback, metrics are HTTPS for clients that the API server authorizes; probes are for every client.",
)
@pytest.mark.parametrize(
    ("settings", "secure"),
    [
        ({}, False),
        ({"metrics_bind": "8080"}, False),
        ({"metrics_bind": "[::1]:8080"}, False),
        ({"metrics_bind": "127.0.0.1:8080", "metrics_secure": True}, True),
        ({"metrics_bind": "0.0.0.0:8080"}, True),
        ({"metrics_bind": "[::]:8080"}, True),
        ({"metrics_bind": "0.0.0.0:8080", "metrics_secure": False}, False),
        ({"metrics_secure": True}, False),
    ],
)
def test_metrics_are_secure_outside_of_loopback(settings: dict[str, Any], secure: bool) -> None:
    operator = Operator("mine", **settings)
    assert operator.settings.has_secure_metrics is secure
    reviews = {one.resource for one in operator.permissions() if one.resource.endswith("reviews")}
    assert reviews == ({"tokenreviews", "subjectaccessreviews"} if secure else set())


def sites(**settings: Any) -> dict[tuple[str, bool], set[str]]:
    operator = Operator("mine")
    running = operator.running(Client(transport=NoServer()), **settings)
    return {(site.bind, site.secure): set(site.pages) for site in sites_of(operator, running)}


@pytest.mark.promise(
    "Watching an operator",
    "Outside of loopback, metrics are HTTPS for clients that the API server authorizes; probes are for every client.",
)
def test_probes_are_never_secure() -> None:
    assert sites(metrics_bind="0.0.0.0:8080", health_bind="0.0.0.0:8081") == {
        ("0.0.0.0:8081", False): {"/healthz", "/readyz"},
        ("0.0.0.0:8080", True): {"/metrics"},
    }


def test_rejects_shared_address_of_probes_and_secure_metrics() -> None:
    shared = {"metrics_bind": "0.0.0.0:8080", "health_bind": "0.0.0.0:8080"}
    with pytest.raises(SettingError, match="use different ports, or --no-metrics-secure"):
        sites(**shared)
    assert sites(**shared, metrics_secure=False) == {("0.0.0.0:8080", False): {"/healthz", "/readyz", "/metrics"}}


@pytest.mark.promise(
    "Watching an operator",
    "Debug pages are on loopback alone unless asked for, and for no foreign name. Elsewhere they need authorization.",
)
def test_debug_pages_leave_loopback_only_with_authorization(caplog: pytest.LogCaptureFixture) -> None:
    debug = "/debug/kubewright"
    everywhere = {"metrics_bind": "0.0.0.0:8080", "health_bind": "0.0.0.0:8081"}
    assert {bind for bind, pages in sites(**everywhere, debug_pages=True).items() if debug in pages} == {
        ("0.0.0.0:8080", True)
    }
    assert not caplog.messages
    assert not [bind for bind, pages in sites(**everywhere).items() if debug in pages]
    assert not [bind for bind, pages in sites(health_bind="0.0.0.0:8081", debug_pages=True).items() if debug in pages]
    assert "/debug/kubewright is not served at 0.0.0.0:8081, which is plain HTTP for every client" in caplog.text
    openly = sites(**everywhere, debug_pages=True, metrics_secure=False)
    assert [debug in pages for pages in openly.values()] == [True, True]


@pytest.mark.promise(
    "Watching an operator",
    "Debug pages are on loopback alone unless asked for, and for no foreign name. Elsewhere they need authorization.",
)
def test_debug_pages_are_on_loopback_by_default() -> None:
    assert sites() == {}
    assert sites(metrics_bind="127.0.0.1:8080") == {("127.0.0.1:8080", False): {"/metrics", "/debug/kubewright"}}
    assert sites(metrics_bind="127.0.0.1:8080", debug_pages=False) == {("127.0.0.1:8080", False): {"/metrics"}}
