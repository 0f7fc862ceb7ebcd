"""Bearer tokens in subprotocols of WebSockets, as browsers send them, on both API servers."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import ssl

import pytest

from kubewright.api import core
from kubewright.api.meta import ObjectMeta
from kubewright.api.rbac import PolicyRule, Role, RoleBinding, RoleRef, Subject
from kubewright.client import Client, load_config
from kubewright.cluster import Cluster
from tests.kubelet.conftest import Processes
from tests.patience import until

pytestmark = pytest.mark.clusters

PREFIX = "base64url.bearer.authorization.k8s.io."
CHANNELS = "v5.channel.k8s.io"


def protocol_of(token: bytes) -> str:
    return PREFIX + base64.urlsafe_b64encode(token).decode().rstrip("=")


@pytest.fixture
async def token(cluster: Cluster, client: Client, namespace: str) -> str:
    """The token of a service account that may run commands in pods."""
    await client.create(core.ServiceAccount(metadata=ObjectMeta(name="browser")))
    rules = [PolicyRule(api_groups=[""], resources=["pods/exec"], verbs=["get", "create"])]
    await client.create(Role(metadata=ObjectMeta(name="browser"), rules=rules))
    subjects = [Subject(kind="ServiceAccount", name="browser", namespace=namespace)]
    ref = RoleRef(kind="Role", name="browser", api_group="rbac.authorization.k8s.io")
    await client.create(RoleBinding(metadata=ObjectMeta(name="browser"), subjects=subjects, role_ref=ref))
    made = (await client.create_token("browser")).status
    assert made is not None
    return made.token or ""


@pytest.fixture
async def address(cluster: Cluster) -> tuple[str, int, ssl.SSLContext]:
    """Host, port and trust of the API server, without a client certificate."""
    await cluster.serve()
    config = load_config(kubeconfig=cluster.kubeconfig())
    _, _, place = config.server.partition("://")
    host, _, port = place.rpartition(":")
    assert config.tls.ca_data is not None
    return host, int(port), ssl.create_default_context(cadata=config.tls.ca_data.decode())


async def handshake(
    address: tuple[str, int, ssl.SSLContext],
    namespace: str,
    protocols: str,
    *,
    upgrade: str = "websocket",
    more: str = "",
) -> tuple[int, str]:
    """Returns the status and the head of the answer to a WebSocket request for a command."""
    host, port, context = address
    reader, writer = await asyncio.open_connection(host, port, ssl=context)
    key = base64.b64encode(os.urandom(16)).decode()
    writer.write(
        f"GET /api/v1/namespaces/{namespace}/pods/web/exec?command=true&stdout=true HTTP/1.1\r\n"
        f"Host: {host}:{port}\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: {protocols}\r\n{more}\r\n".encode()
    )
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    writer.close()
    return int(head.split()[1]), head


async def test_authenticates(
    address: tuple[str, int, ssl.SSLContext],
    processes: Processes,
    namespace: str,
    token: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    encoded = protocol_of(token.encode())

    async def allowed() -> str | None:
        status, head = await handshake(address, namespace, f"{encoded}, {CHANNELS}")
        return head if status != 403 else None

    head = await until(allowed, "the role of the service account")
    assert head.startswith("HTTP/1.1 101 ")
    assert f"sec-websocket-protocol: {CHANNELS}\r\n" in head.lower()
    assert token not in caplog.text
    assert encoded not in caplog.text


@pytest.mark.parametrize(
    "protocols",
    [
        "{valid}",  # nothing is left to choose
        "{valid}, {valid}, v5.channel.k8s.io",
        "{prefix}a, v5.channel.k8s.io",
        "{prefix}!!!!, v5.channel.k8s.io",
        "{prefix}_w, v5.channel.k8s.io",  # not UTF-8
        "{other}, v5.channel.k8s.io",
    ],
    ids=["alone", "twice", "short", "not base64", "not UTF-8", "invalid"],
)
async def test_rejects_invalid_tokens(
    address: tuple[str, int, ssl.SSLContext], processes: Processes, namespace: str, token: str, protocols: str
) -> None:
    filled = protocols.format(valid=protocol_of(token.encode()), other=protocol_of(b"no.token.of-ours"), prefix=PREFIX)
    assert (await handshake(address, namespace, filled))[0] == 401


async def test_tokens_count_only_in_websockets(
    address: tuple[str, int, ssl.SSLContext], processes: Processes, namespace: str, token: str
) -> None:
    status, _ = await handshake(address, namespace, f"{protocol_of(token.encode())}, {CHANNELS}", upgrade="h2c")
    assert status in (401, 403)  # without RBAC there are no anonymous users


@pytest.mark.promise("Streams of pods", "A WebSocket request of another origin and a plain SPDY upgrade are refused.")
async def test_refuses_other_origins_and_plain_spdy(
    address: tuple[str, int, ssl.SSLContext], processes: Processes, namespace: str, token: str
) -> None:
    protocols = f"{protocol_of(token.encode())}, {CHANNELS}"
    host, port, _ = address

    async def answered(**settings: str) -> int | None:
        status, _ = await handshake(address, namespace, protocols, **settings)
        return status

    async def allowed() -> bool:
        return await answered(more=f"Origin: https://{host}:{port}\r\n") == 101

    await until(allowed, "the role of the service account")
    assert await answered(more="Origin: https://evil.example.com\r\n") == 403
    assert await answered(more=f"Authorization: Bearer {token}\r\n", upgrade="SPDY/3.1") == 400
