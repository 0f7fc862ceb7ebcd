"""How the client keeps, reuses and closes connections, and how long it waits on them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kubewright.client import (
    ConnectionLost,
)
from kubewright.client import _connection as connection_module  # private: feeds a connection bytes that no server sends
from tests.client.http_server import OK, Server, get, serving, transport_to
from tests.patience import PATIENCE


async def test_retries_repeatable_requests_if_a_kept_connection_was_closed() -> None:
    for repeatable in (True, False):
        server = Server(OK, b"", OK)
        async with serving(server) as address, transport_to(address) as transport:
            await (await transport.send(get())).read()
            asked = transport.send(get(repeatable=repeatable))
            if repeatable:
                assert await (await asked).read() == b"ok"
            else:
                with pytest.raises(ConnectionLost, match="it was closed without a response") as caught:
                    await asked
                assert caught.value.sent
        assert server.connections == (2 if repeatable else 1)


async def test_a_kept_connection_that_the_server_closes_is_not_used_again() -> None:
    connections = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)

    async with serving(handle) as address, transport_to(address) as transport:
        for _ in range(2):
            response = await transport.send(get(repeatable=False))
            connection = response.connection
            assert connection is not None
            await response.read()
            while connection.is_open:  # noqa: ASYNC110  # until the event loop has heard of it
                await asyncio.sleep(0)
    assert connections == 2


async def test_idle_connections_are_closed_after_a_minute() -> None:
    async with serving(Server(OK, OK)) as address, transport_to(address) as transport:
        response = await transport.send(get())
        connection, pool = response.connection, transport._pool
        await response.read()
        assert connection is not None
        assert pool is not None
        pool._sweep()
        assert connection.is_open
        connection.idle_since -= 61
        pool._sweep()
        assert not connection.is_open
        assert pool.take(await transport._authenticator.identity()) is None


async def test_closing_an_unread_response_closes_its_connection() -> None:
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
        await reader.read()
        gone.set()

    async with serving(handle) as address, transport_to(address) as transport:
        response = await transport.send(get(stream=True))
        pieces = response.chunks()
        assert await anext(pieces) == b"ok"
        waiting = asyncio.ensure_future(anext(pieces))
        await asyncio.sleep(0)
        response.close()
        with pytest.raises(ConnectionLost, match="it was closed by this client") as caught:
            await waiting
        assert not caught.value.final  # the client goes on
        assert [piece async for piece in response.chunks()] == []
        await gone.wait()


async def test_reading_after_the_end_does_not_read_another_response() -> None:
    async with serving(Server(OK, OK.replace(b"ok", b"hi"))) as address, transport_to(address) as transport:
        response = await transport.send(get())
        pieces = response.chunks()
        assert await anext(pieces) == b"ok"
        response.close()
        other = await transport.send(get())
        assert [piece async for piece in pieces] == []
        assert await other.read() == b"hi"


async def test_response_is_closed_if_renewing_credentials_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def rejected(_: object) -> bool:
        raise asyncio.CancelledError

    server = Server(b"HTTP/1.1 401 Who?\r\nContent-Length: 9\r\n\r\n")
    async with serving(server) as address, transport_to(address) as transport:
        monkeypatch.setattr(transport._authenticator, "rejected", rejected)
        with pytest.raises(asyncio.CancelledError):
            await transport.send(get())
        assert transport._pool is not None
        await asyncio.sleep(0)
        assert not transport._pool._open


async def test_unread_response_pauses_the_server() -> None:
    sent = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1000 * len(block)))
        for _ in range(1000):
            writer.write(block)
            await writer.drain()
            sent += len(block)

    block = bytes(2**16)
    async with serving(handle) as address, transport_to(address) as transport:
        response = await transport.send(get())
        before = -1
        while sent != before:  # until the server cannot send any more
            before = sent
            for _ in range(200):
                await asyncio.sleep(0)
        assert sent < 500 * len(block)
        received = 0
        async for piece in response.chunks():
            received += len(piece)
        assert received == 1000 * len(block)


# Time


@pytest.mark.parametrize("length", [b"Content-Length: 9\r\n", b"Transfer-Encoding: chunked\r\n\r\n4", b""])
async def test_timeout_includes_the_body(length: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    never, loop, ahead = asyncio.Event(), asyncio.get_running_loop(), 0.0
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + ahead)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"\r\nhalf")
        await writer.drain()
        await never.wait()

    async with serving(handle) as address, transport_to(address) as transport:
        response = await transport.send(get(timeout=PATIENCE))
        ahead += PATIENCE
        with pytest.raises(TimeoutError, match=r"no answer within [1-4]m(\d+s)?"):
            await response.read()
        stream = await transport.send(get(timeout=PATIENCE, stream=True))
        ahead += PATIENCE
        with pytest.raises(ConnectionLost, match=r"broke: nothing was received for 3m20s"):
            await stream.read()
        never.set()


async def test_stream_times_out_only_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    connection = connection_module.Connection(True, lambda _: None)
    timers: list[tuple[float, Callable[..., None], tuple[Any, ...]]] = []

    class Loop:
        def time(self) -> float:
            return now

        def call_later(self, delay: float, call: Callable[..., None], *arguments: Any) -> Any:
            timers.append((now + delay, call, arguments))
            return asyncio.get_running_loop().call_soon(lambda: None)

    def passes(until: float) -> None:
        nonlocal now
        while timers and timers[0][0] <= until:
            now, call, arguments = timers.pop(0)
            call(*arguments)
        now = until

    monkeypatch.setattr(connection, "_loop", Loop())
    connection._begin(300.0, between=True)
    passes(299.0)
    connection.data_received(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
    passes(598.0)
    assert connection._error is None
    connection._read_paused = True  # this side does not read: the server is not slow
    passes(1500.0)
    assert connection._error is None
    connection._read_paused = False
    passes(2000.0)
    assert isinstance(connection._error, TimeoutError)
