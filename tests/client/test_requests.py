"""HTTP/1.1 requests as the client sends them."""

from __future__ import annotations

import asyncio

import pytest

from kubewright.client import (
    ClientConfig,
    ConfigError,
    Credentials,
    HttpTransport,
    Request,
)
from kubewright.client._heads import ServerAddress, head_of  # private: parses addresses that no server has
from kubewright.clock import SystemClock
from tests.client.http_server import KIB, OK, Server, get, serving, transport_to


async def test_what_a_request_looks_like() -> None:
    server = Server(OK, OK)
    headers = {"Accept": "application/json", "X-Name": "Jürgen"}
    async with serving(server) as address, transport_to(f"{address}/prefix") as transport:
        query = [("labelSelector", "a in (b,c)"), ("x", "ü&=")]
        await (await transport.send(get(path="/api", query=query, headers=headers))).read()
        await (await transport.send(Request(method="POST", path="/api"))).read()
    first, second = (head.decode().split("\r\n") for head in server.heads)
    assert first[0] == "GET /prefix/api?labelSelector=a%20in%20(b,c)&x=%C3%BC%26%3D HTTP/1.1"
    assert first[1] == f"Host: {address.removeprefix('http://')}"
    assert {"Accept: application/json", "X-Name: Jürgen", "Accept-Encoding: identity"} < set(first)
    assert not any(line.startswith("Content-Length") for line in first)
    assert "Content-Length: 0" in second


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        ("/a b", "A", "b"),
        ("/a\r\nB: c", "A", "b"),
        ("/", "A\r\nB", "c"),
        ("/", "A", "s3cret\r\nB: c"),
        ("/", "A:", "b"),
    ],
)
def test_rejects_header_injection(target: str, name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"not a valid HTTP request|characters that HTTP does not allow") as caught:
        head_of("GET", target, [(name, value)])
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "name", "authority"),
    [
        ("https://example.com", "example.com", "example.com:443"),
        ("https://example.com:6443/k8s/", "example.com:6443", "example.com:6443"),
        ("http://[::1]:80", "[::1]", "[::1]:80"),
        ("http://bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example:80"),
    ],
)
def test_the_names_of_servers(url: str, name: str, authority: str) -> None:
    place = ServerAddress.of(url)
    assert (place.name, place.authority) == (name, authority)
    assert place.url == f"{url.split(':')[0]}://{name}"


@pytest.mark.parametrize("url", ["example.com:6443", "ftp://example.com", "https://", "https://a:port"])
def test_rejects_an_invalid_server_url(url: str) -> None:
    with pytest.raises(ConfigError, match="the URL of the server or of its proxy is not valid: "):
        HttpTransport(ClientConfig(server=url, credentials=Credentials()), SystemClock())


async def test_a_large_body_waits_for_a_slow_server_and_arrives_whole() -> None:
    body, received = bytes(range(256)) * 40 * KIB, bytearray()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        while len(received) < len(body):
            received.extend(await reader.read(2**16))
            await asyncio.sleep(0)
        writer.write(OK)

    async with serving(handle) as address, transport_to(address) as transport:
        response = await transport.send(Request(method="POST", path="/", body=body))
        assert await response.read() == b"ok"
    assert received == body


async def test_server_may_answer_before_it_has_read_the_body() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await done.wait()

    done = asyncio.Event()
    async with serving(handle) as address, transport_to(address) as transport:
        response = await transport.send(Request(method="POST", path="/", body=bytes(50 * KIB * KIB)))
        assert response.status == 413
        connection = response.connection
        assert await response.read() == b""
        assert connection is not None
        assert not connection.is_open  # half of a request is still on its way
        done.set()
