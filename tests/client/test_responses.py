"""HTTP/1.1 responses as the client reads them, from servers on loopback that send exactly what a test wants."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from kubewright.client import (
    ConnectionLost,
)
from kubewright.http import Headers
from tests.client.http_server import KIB, OK, Server, body_of, get, serving, transport_to


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1\r\n!\r\n0\r\nTrailer: x\r\n\r\n", b"ok!"),
        (b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n" + OK, b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", b""),
    ],
)
async def test_framed_responses_keep_the_connection_for_the_next_request(answer: bytes, body: bytes) -> None:
    server = Server(answer, OK)
    async with serving(server) as address, transport_to(address) as transport:
        first = await transport.send(get())
        assert await first.read() == body
        assert "A" not in first.headers
        assert await (await transport.send(get())).read() == b"ok"
    assert server.connections == 1


async def test_response_may_end_with_its_connection() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nall that there is")

    async with serving(handle) as address, transport_to(address) as transport:
        assert await (await transport.send(get())).read() == b"all that there is"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "cannot be parsed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: nine\r\n\r\n", "cannot be parsed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "cannot be parsed"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n", "wants to switch protocols"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 100 * KIB, "more than 1000 headers"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nok", "was not requested"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok", "cannot be decompressed"),
    ],
)
async def test_rejects_malformed_responses(answer: bytes, why: str) -> None:
    with pytest.raises(ConnectionLost, match=why) as caught:
        await body_of(Server(answer))
    assert "\n" not in str(caught.value)


async def test_data_after_a_response_is_not_the_next_response() -> None:
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        await reader.read()

    async with serving(handle) as address, transport_to(address) as transport:
        for _ in range(2):
            assert await (await transport.send(get())).read() == b"ok"
    assert connections == 2


async def test_headers_are_case_insensitive_and_may_repeat() -> None:
    headers = Headers([(b"warning", b'299 - "a"'), (b"warning", b'299 - "b"'), (b"retry-after", b"5")])
    assert "RETRY-AFTER" in headers
    assert headers["retry-after"] == "5"
    assert headers.get("absent") is None
    assert headers.all("warning") == ['299 - "a"', '299 - "b"']
    assert dict(headers) == {"warning": '299 - "b"', "retry-after": "5"}
    assert len(headers) == 2


async def test_response_to_head_has_no_body() -> None:
    for length in (b"Content-Length: 9", b"Transfer-Encoding: chunked"):
        server = Server(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n\r\n", OK)
        async with serving(server) as address, transport_to(address) as transport:
            assert await (await transport.send(get(method="HEAD"))).read() == b""
            assert await (await transport.send(get())).read() == b"ok"


# Packed answers


def packed(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body


async def test_compressed_responses_are_decompressed_in_pieces() -> None:
    server = Server(packed(gzip.compress(bytes(5 * KIB * KIB))), packed(gzip.compress(b"small")))
    async with serving(server) as address, transport_to(address) as transport:
        sizes = [len(piece) async for piece in (await transport.send(get())).chunks()]
        assert sum(sizes) == 5 * KIB * KIB
        assert max(sizes) <= KIB * KIB  # a small answer may hold much: it is not unpacked at once
        assert await (await transport.send(get())).read() == b"small"


async def test_truncated_compressed_response() -> None:
    with pytest.raises(ConnectionLost, match="its response broke off"):
        await body_of(Server(packed(gzip.compress(bytes(range(256)))[:-20])))
