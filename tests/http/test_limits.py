"""What a client can take from a server is bounded: bytes, time and connections. Time is virtual."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubewright.clock import VirtualClock
from kubewright.http import Server, ServerLimits, ServerRequest, ServerResponse
from tests.http.conftest import client_hello, connections, echo, wire
from tests.http.test_server import GET, contexts
from tests.patience import PATIENCE, until

LIMITS = ServerLimits(header_bytes=4096, connections=3, silent_seconds=0, grace_seconds=0)


# Bytes


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"a" * 5000,
        b"GET / HTTP/1.1\r\nA: " + b"b" * 5000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 2000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 2000 + b"\r\n",
        b"GET / HTTP/1.1\r\n" + b"A" * 5000,
    ],
    ids=["target", "value", "many", "many-complete", "name"],
)
async def test_refuses_headers_that_are_too_large(sent: bytes) -> None:
    async with Server(echo, limits=LIMITS) as server, wire(server) as client:
        client.send(sent)
        status, headers, _ = await client.response()
        assert (status, headers["connection"]) == (431, "close")


@pytest.mark.parametrize("trailer", [b"A: b\r\n", b"x" * 8], ids=["many", "one"])
async def test_refuses_endless_trailers(trailer: bytes) -> None:
    async with Server(echo, limits=LIMITS) as server, wire(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
        response = asyncio.create_task(client.response())
        async with asyncio.timeout(PATIENCE):
            while not response.done():
                client.send(trailer * 1000)
                await asyncio.sleep(0)
        assert (await response)[0] == 400


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 5000, 431),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 67108864\r\n\r\n" + b"c" * 2**21, 413),
    ],
    ids=["head", "body"],
)
async def test_stops_reading_after_a_refusal(sent: bytes, status: int) -> None:
    async with Server(echo, limits=LIMITS) as server, wire(server) as client:
        client.send(sent)
        assert (await client.response())[0] == status
        client.send(b"x" * 2**25)
        [connection] = server.connections
        await until(lambda: connection.transport is not None and not connection.transport.is_reading())


async def test_closes_a_connection_with_too_many_pipelined_requests() -> None:
    release = asyncio.Event()

    async def wait(request: ServerRequest) -> ServerResponse:
        await release.wait()
        return ServerResponse(200, b"ok")

    async with Server(wait) as server, wire(server) as client:
        client.send(GET * 1000)
        await until(lambda: any(each.task is not None for each in server.connections))
        release.set()
        assert (await client.response())[0] == 200
        assert await client.is_closed()


async def test_stops_reading_a_body_that_the_handler_does_not_read() -> None:
    release = asyncio.Event()
    received: list[int] = []

    async def slow(request: ServerRequest) -> ServerResponse:
        await release.wait()
        received.append(sum(map(len, request.arrived)))
        return ServerResponse(200, str(len(await request.body(largest=2**26))).encode())

    async with Server(slow) as server, wire(server) as client:
        size = 2**25
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        client.send(b"x" * size)
        (connection,) = await connections(server, 1)
        await until(lambda: connection.transport is not None and not connection.transport.is_reading())
        release.set()
        assert (await client.response())[2] == str(size).encode()
        assert received[0] < 2**20


# Time


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [(b"", 32), (b"GET / HT", 32), (b"GET / HTTP/1.1\r\nA: b\r\n", 32), (GET, 120), (GET + b"GET", 32)],
    ids=["silent", "half a line", "half the headers", "idle", "half the next request"],
)
async def test_closes_a_connection_that_waits_for_its_client(sent: bytes, seconds: int) -> None:
    clock = VirtualClock()
    async with Server(echo, clock=clock) as server, wire(server) as client:
        client.send(sent)
        if sent.startswith(GET):
            assert (await client.response())[0] == 200
        wanted = "idle" if sent == GET else "head"
        await until(lambda: [each.state for each in server.connections] == [wanted])
        await clock.advance(seconds - 1)
        assert len(server.connections) == 1
        await clock.advance(2)
        assert await client.is_closed()


async def test_a_byte_now_and_then_does_not_extend_the_header_timeout() -> None:
    clock = VirtualClock()
    async with Server(echo, clock=clock) as server, wire(server) as client:
        await until(lambda: [each.state for each in server.connections] == ["head"])
        for byte in b"GET / HTTP/1.1":
            client.send(bytes([byte]))
            await clock.advance(3)
        assert await client.is_closed()


async def test_answers_408_to_a_body_that_does_not_arrive() -> None:
    clock = VirtualClock()
    async with Server(echo, clock=clock) as server, wire(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
        await until(lambda: [each.state for each in server.connections] == ["body"])
        await clock.advance(61)
        status, headers, body = await client.response()
        assert (status, headers["connection"], body) == (408, "close", b"the body did not arrive within 1m\n")
        await until(lambda: [each.state for each in server.connections] == ["lingering"])
        await clock.advance(6)
        assert await client.is_closed()


async def test_resets_a_client_that_does_not_read_its_response() -> None:
    clock = VirtualClock()
    ended = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 2**16
        finally:
            ended.set()

    async def stream(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, endless())

    async with Server(stream, clock=clock) as server, wire(server) as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        client.send(GET)
        (connection,) = await connections(server, 1)
        await until(lambda: connection._writer.stalled_for(1.0))
        await clock.advance(59)
        assert not ended.is_set()
        await clock.advance(3)
        await until(ended.is_set)
        await until(lambda: not server.connections)


async def test_a_handler_and_a_quiet_stream_have_no_deadline() -> None:
    clock = VirtualClock()
    release = asyncio.Event()

    async def watch() -> AsyncIterator[bytes]:
        yield b"first"
        await release.wait()
        yield b"second"

    async def stream(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, watch())

    async with Server(stream, clock=clock) as server, wire(server) as client:
        client.send(GET)
        response = asyncio.create_task(client.response())
        await until(lambda: [each.state for each in server.connections] == ["handling"])
        await clock.advance(900)
        release.set()
        assert (await response)[2] == b"firstsecond"


@pytest.mark.parametrize("begins", [False, True], ids=["silent", "begun"])
async def test_drops_a_handshake_that_does_not_finish(tmp_path: Path, begins: bool) -> None:
    clock = VirtualClock()
    serving, asking = contexts(tmp_path)
    async with Server(echo, tls=serving, clock=clock) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            if begins:
                client.sendall(client_hello(asking))
                await connections(server, 1)
            await until(lambda: server.waiting == 1)
            await clock.advance(31)
            assert server.waiting == 1
            await clock.advance(2)
            await until(lambda: not server.waiting and not server.connections)
