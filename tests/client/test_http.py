"""The way over the network, against real servers on loopback."""

from __future__ import annotations

import asyncio
import gc
import socket
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import (
    TLS,
    Client,
    ClientConfig,
    ConfigError,
    Credentials,
    NotKubernetes,
    RetryPolicy,
    Timeout,
    Unauthorized,
    Unavailable,
    load_config,
)
from kubewright.testing import ControlPlane
from tests.client.http_server import Handler, serving

ONCE = RetryPolicy(attempts=1)


def answering(*answers: bytes, asked: list[bytes] | None = None) -> Handler:
    queue = list(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if asked is not None:
            asked.append(head)
        body = queue.pop(0) if len(queue) > 1 else queue[0]
        writer.write(body)
        await writer.drain()

    return handle


def http(status: str, body: bytes, content_type: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return head.encode() + b"\r\n" + body


async def test_closed_port_raises_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with Client(ClientConfig(server=address), retry=ONCE) as client:
            with pytest.raises(Unavailable, match=rf"^get nodes n: cannot connect to {address}: "):
                await client.get(core.Node, "n")


@pytest.mark.promise("When a request fails", "A server that is not Kubernetes is called so.")
async def test_a_server_that_is_not_kubernetes() -> None:
    page = http("200 OK", b"<html>Welcome!</html>", "text/html")
    async with serving(answering(page)) as address, Client(ClientConfig(server=address), retry=ONCE) as client:
        with pytest.raises(NotKubernetes, match="is this the address of an API server"):
            await client.get(core.Node, "n")


async def test_server_that_closes_the_connection() -> None:
    async with serving(answering(b"")) as address, Client(ClientConfig(server=address), retry=ONCE) as client:
        with pytest.raises(Unavailable, match=rf"the connection to {address} broke"):
            await client.get(core.Node, "n")


async def test_a_server_that_breaks_off_in_the_middle() -> None:
    half = http("200 OK", b'{"metadata":{"name":"n"}}')[:-5]
    async with serving(answering(half)) as address, Client(ClientConfig(server=address), retry=ONCE) as client:
        with pytest.raises(Unavailable, match=r"the connection to \S+ broke: its response broke off$"):
            await client.get(core.Node, "n")


async def test_server_with_another_protocol_is_reported_in_one_line() -> None:
    other = answering(b"SSH-2.0-OpenSSH_9.2\r\n")
    async with serving(other) as address, Client(ClientConfig(server=address), retry=ONCE) as client:
        with pytest.raises(Unavailable, match=r"broke: its response cannot be parsed \(Expected HTTP/") as caught:
            await client.server_version()
        assert "\n" not in str(caught.value)


async def test_a_server_that_does_not_answer_in_time() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent) as address, Client(ClientConfig(server=address), retry=ONCE, timeout=0.05) as client:
        with pytest.raises(Timeout, match=r"no answer within 50ms"):
            await client.get(core.Node, "n")


async def test_tls_where_there_is_none() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)  # of a ClientHello, which no HTTP server understands
        writer.write(http("400 Bad Request", b""))

    async with serving(plain) as address:
        config = ClientConfig(server=address.replace("http:", "https:"))
        async with Client(config, retry=ONCE) as client:
            with pytest.raises((Unavailable, ConfigError), match=address.replace("http:", "https:")):
                await client.get(core.Node, "n")


async def test_an_untrusted_certificate_is_refused(control_plane: ControlPlane) -> None:
    async with Client(ClientConfig(server=control_plane.url)) as client:
        with pytest.raises(ConfigError, match=r"certificate") as caught:
            await client.get(core.Node, "n")
    assert "\n" not in str(caught.value)


@pytest.mark.promise("Configuration and credentials", "`insecure-skip-tls-verify` and `tls-server-name`.")
async def test_insecure_skip_tls_verify_is_a_choice(control_plane: ControlPlane) -> None:
    async with Client(ClientConfig(server=control_plane.url, tls=TLS(insecure=True))) as client:
        assert (await client.server_version()).major == "1"


@pytest.mark.promise("When a request fails", "No secret shows in an error.")
async def test_an_unknown_token_is_unauthorized_and_not_shown(control_plane: ControlPlane) -> None:
    config = ClientConfig(
        server=control_plane.url, tls=TLS(ca_data=control_plane.ca), credentials=Credentials(token="s3cret-token")
    )
    async with Client(config) as client:
        with pytest.raises(Unauthorized) as caught:
            await client.get(core.Node, "n")
    assert "s3cret-token" not in str(caught.value)


@pytest.mark.promise("Configuration and credentials", "A token file is read again.")
async def test_a_token_that_was_rotated_is_read_again(
    control_plane: ControlPlane, client: Client, namespace: str, tmp_path: Path
) -> None:
    await client.create(core.ServiceAccount(metadata=ObjectMeta(name="robot", namespace=namespace)))
    token = (await client.create_token("robot", namespace)).status.token or ""
    file = tmp_path / "token"
    file.write_text("stale")
    config = ClientConfig(
        server=control_plane.url, tls=TLS(ca_data=control_plane.ca), credentials=Credentials(token_file=str(file))
    )
    async with Client(config) as pod:
        with pytest.raises(Unauthorized):
            await pod.request("GET", "/apis")
        file.write_text(token)
        assert b"APIGroupList" in await pod.request("GET", "/apis")


@pytest.mark.promise("Configuration and credentials", "Impersonation.")
async def test_impersonation(control_plane: ControlPlane) -> None:
    config = load_config(kubeconfig=control_plane.kubeconfig, impersonate_user="jane", impersonate_groups=["a", "b"])
    async with Client(config) as client:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        raw = await client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=review)
    assert b'"username":"jane"' in raw
    assert b'"groups":["a","b","system:authenticated"]' in raw


@pytest.mark.promise("Configuration and credentials", "Proxies.")
async def test_requests_go_through_a_proxy() -> None:
    asked: list[bytes] = []
    async with serving(answering(http("200 OK", b'{"metadata":{"name":"n"}}'), asked=asked)) as proxy:
        config = ClientConfig(server="http://cluster.invalid:80", proxy=proxy)
        async with Client(config) as client:
            assert (await client.get(core.Node, "n")).metadata.name == "n"
    assert asked[0].startswith(b"GET http://cluster.invalid/api/v1/nodes/n HTTP/1.1")


async def test_redirects_are_not_followed() -> None:
    away = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    async with serving(answering(away)) as address, Client(ClientConfig(server=address), retry=ONCE) as client:
        with pytest.raises(Exception, match="HTTP status 302"):
            await client.get(core.Node, "n")


async def test_compression_is_used_for_remote_servers_only() -> None:
    from kubewright.client._http import _is_near  # private: no test may connect to hosts that are not near

    assert all(map(_is_near, ["https://127.0.0.1:6443", "https://10.96.0.1", "https://kubernetes.default.svc"]))
    assert not any(map(_is_near, ["https://api.example.com", "https://8.8.8.8"]))


async def test_a_client_that_was_closed_can_be_used_again(control_plane: ControlPlane) -> None:
    client = Client.connect(kubeconfig=control_plane.kubeconfig)
    for _ in range(2):
        async with client:
            await client.server_version()


async def test_a_request_on_its_way_fails_when_its_client_is_closed_and_is_not_repeated() -> None:
    asked = asyncio.Queue[None]()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.put_nowait(None)
        await reader.read()  # until the client is gone

    async with serving(silent) as address:
        client = Client(ClientConfig(server=address))
        asking = asyncio.create_task(client.get(core.Node, "n"))
        await asked.get()
        await client.close()
        with pytest.raises(Unavailable, match="the client was closed"):
            await asking
        assert asked.empty()


async def many(client: Client, count: int) -> list[Any]:
    return await asyncio.gather(*(client.get(core.Namespace, "default") for _ in range(count)))


async def test_many_requests_at_once(client: Client) -> None:
    assert {obj.metadata.name for obj in await many(client, 100)} == {"default"}


async def test_requests_that_are_cancelled_leave_no_connection_behind(control_plane: ControlPlane) -> None:
    # Warnings about unclosed connections are errors in this suite; the delays reach every stage.
    for turns in range(0, 60, 3):
        client = Client.connect(kubeconfig=control_plane.kubeconfig)
        request = asyncio.create_task(client.get(core.Namespace, "default"))
        for _ in range(turns):
            await asyncio.sleep(0)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        await client.close()
        gc.collect()
