"""Upgrades: a connection that stops carrying HTTP, on the server's side."""

from __future__ import annotations

import asyncio

import pytest

from kubewright.clock import VirtualClock
from kubewright.http import ByteStream, Server, ServerLimits, ServerRequest, ServerResponse, memory_streams
from tests.http.conftest import wire
from tests.patience import PATIENCE, until

UPGRADE = b"GET /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
HEADERS = (("Connection", "Upgrade"), ("Upgrade", "echo"))


async def back(stream: ByteStream) -> None:
    """Sends everything back until the client closes."""
    while data := await stream.read():
        await stream.write(data)


async def upgrading(request: ServerRequest) -> ServerResponse:
    return ServerResponse(101, headers=HEADERS, upgrade=back)


async def test_gives_the_connection_to_the_upgrade_after_the_head() -> None:
    async with Server(upgrading) as server, wire(server) as client:
        client.send(UPGRADE)
        status, headers, _ = await client.response()
        assert (status, headers["connection"], headers["upgrade"]) == (101, "Upgrade", "echo")
        assert "content-length" not in headers
        client.send(b"\x00\xff raw")
        assert await client.reader.readexactly(6) == b"\x00\xff raw"


async def test_keeps_bytes_that_arrive_together_with_the_request() -> None:
    async with Server(upgrading) as server, wire(server) as client:
        client.send(UPGRADE + b"early ")
        assert (await client.response())[0] == 101
        client.send(b"late")
        assert await client.reader.readexactly(10) == b"early late"


async def test_closes_the_connection_when_the_upgrade_returns() -> None:
    async def greet(stream: ByteStream) -> None:
        await stream.write(b"bye")

    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(101, headers=HEADERS, upgrade=greet)

    async with Server(handler) as server, wire(server) as client:
        client.send(UPGRADE)
        assert (await client.response())[0] == 101
        async with asyncio.timeout(PATIENCE):
            assert await client.reader.read() == b"bye"
        await until(lambda: not server.connections)


async def test_reads_the_last_bytes_of_a_client_that_closes_although_handlers_are_cancelled() -> None:
    seen: list[bytes] = []

    async def collect(stream: ByteStream) -> None:
        while data := await stream.read():
            seen.append(data)
        seen.append(b"end")

    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(101, headers=HEADERS, upgrade=collect)

    async with Server(handler, cancel_on_disconnect=True) as server, wire(server) as client:
        client.send(UPGRADE)
        assert (await client.response())[0] == 101
        client.send(b"last words")
        client.writer.write_eof()
        await until(lambda: b"end" in seen)
    assert b"".join(seen) == b"last wordsend"


async def test_writes_no_faster_than_the_client_reads() -> None:
    sent = 0

    async def flood(stream: ByteStream) -> None:
        nonlocal sent
        for _ in range(400):
            await stream.write(b"x" * 65_536)
            sent += 65_536

    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(101, headers=HEADERS, upgrade=flood)

    async with Server(handler) as server, wire(server) as client:
        client.send(UPGRADE)
        assert (await client.response())[0] == 101
        before = -1
        while before != sent:  # until the buffers of both sides are full
            before = sent
            for _ in range(50):
                await asyncio.sleep(0)
        assert sent < 400 * 65_536
        async with asyncio.timeout(PATIENCE):
            assert len(await client.reader.read()) == 400 * 65_536


async def test_pauses_a_client_that_sends_faster_than_the_upgrade_reads() -> None:
    release = asyncio.Event()
    total = 0

    async def slow(stream: ByteStream) -> None:
        nonlocal total
        await release.wait()
        while data := await stream.read():
            assert len(data) <= 2**20
            total += len(data)

    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(101, headers=HEADERS, upgrade=slow)

    async with Server(handler) as server, wire(server) as client:
        client.send(UPGRADE)
        assert (await client.response())[0] == 101
        client.send(b"y" * 20_000_000)
        release.set()
        async with asyncio.timeout(PATIENCE):
            await client.writer.drain()
        client.writer.write_eof()
        await until(lambda: total == 20_000_000)


async def test_answers_a_request_for_an_upgrade_without_one() -> None:
    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(400, b"no such protocol")

    async with Server(handler) as server, wire(server) as client:
        client.send(UPGRADE)
        status, headers, body = await client.response()
        assert (status, headers["connection"], body) == (400, "close", b"no such protocol")
        assert await client.is_closed()


async def test_does_not_upgrade_a_client_that_did_not_ask() -> None:
    async with Server(upgrading) as server, wire(server) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await client.response())[0] == 500


async def test_stopping_the_server_ends_upgrades() -> None:
    ended = asyncio.Event()

    async def wait(stream: ByteStream) -> None:
        try:
            await stream.read()
        finally:
            ended.set()

    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(101, headers=HEADERS, upgrade=wait)

    async with Server(handler) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(UPGRADE)
        await reader.readuntil(b"\r\n\r\n")
    assert ended.is_set()
    assert await reader.read() == b""
    writer.transport.abort()


async def test_closes_an_upgraded_connection_that_carries_nothing_for_the_limit() -> None:
    clock, limits = VirtualClock(), ServerLimits(upgraded_idle_seconds=0.0)
    async with Server(upgrading, limits=limits, clock=clock) as server, wire(server) as client:
        client.send(UPGRADE)
        assert (await client.response())[0] == 101
        await until(lambda: [each for each in server.connections if each.state == "upgraded"])
        await clock.advance(1)
        assert await client.is_closed()


async def test_stopping_waits_for_an_upgrade_whose_client_has_left() -> None:
    left, ended = asyncio.Event(), asyncio.Event()

    async def slow(stream: ByteStream) -> None:
        await stream.read()
        left.set()
        for _ in range(20):
            await asyncio.sleep(0)
        ended.set()

    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(101, headers=HEADERS, upgrade=slow)

    async with Server(handler) as server, wire(server) as client:
        client.send(UPGRADE)
        assert (await client.response())[0] == 101
        client.writer.write_eof()
        await left.wait()
    assert ended.is_set()


class TestMemoryStreams:
    async def test_carry_bytes_in_both_directions_until_closed(self) -> None:
        one, other = memory_streams()
        await one.write(b"a")
        await other.write(b"b")
        assert (await other.read(), await one.read()) == (b"a", b"b")
        await one.write(b"rest")
        one.close()
        assert (await other.read(), await other.read()) == (b"rest", b"")
        with pytest.raises(ConnectionResetError):
            await other.write(b"late")

    async def test_writing_waits_for_the_reader(self) -> None:
        one, other = memory_streams()
        await one.write(b"x" * 300_000)
        writing = asyncio.ensure_future(one.write(b"y"))
        await asyncio.sleep(0)
        assert not writing.done()
        assert len(await other.read()) == 300_000
        await writing
        assert await other.read() == b"y"

    async def test_closing_fails_a_writer_that_waits(self) -> None:
        one, other = memory_streams()
        await one.write(b"x" * 300_000)
        writing = asyncio.ensure_future(one.write(b"y"))
        await asyncio.sleep(0)
        other.close()
        with pytest.raises(ConnectionResetError):
            await writing
