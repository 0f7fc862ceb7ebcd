"""Forwarded ports: connections, half-closed ones, refused ones, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from kubewright.client import Client, NotFound


@pytest.fixture
async def echo_port() -> AsyncIterator[int]:
    """A server that sends everything back, reversed, after its client has ended its direction."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read())[::-1])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
async def greeting_port() -> AsyncIterator[int]:
    """A server that speaks first and closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port that is bound, and not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


async def fetch(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    writer.write_eof()
    received = await reader.read()
    writer.close()
    return received


@pytest.mark.promise("Streams of pods", "`client.port_forward` makes a port of a pod available on loopback.")
async def test_carries_connections_through_a_local_port(client: Client, echo_port: int) -> None:
    async with client.port_forward("web", echo_port) as forward:
        answers = await asyncio.gather(*(fetch(forward.port, f"number {n}".encode()) for n in range(20)))
    assert answers == [f"number {n}"[::-1].encode() for n in range(20)]


async def test_carries_large_data(client: Client, echo_port: int) -> None:
    data = bytes(range(256)) * 20_000
    async with client.port_forward("web", echo_port) as forward:
        assert await fetch(forward.port, data) == data[::-1]


async def test_opens_a_stream_without_a_local_port(client: Client, greeting_port: int) -> None:
    async with client.port_forward("web", greeting_port) as forward:
        stream = await forward.connect()
        assert (await stream.read(), await stream.read()) == (b"hello", b"")


async def test_reports_a_port_that_refuses(client: Client, unused_port: int) -> None:
    async with client.port_forward("web", unused_port) as forward:
        stream = await forward.connect()
        with pytest.raises(ConnectionRefusedError, match=f"port {unused_port} of pod web.*refused"):
            await stream.read()
        assert await fetch(forward.port, b"x") == b""
        assert not forward.closed.is_set()


async def test_pod_that_does_not_exist_is_an_error(client: Client) -> None:
    with pytest.raises(NotFound):
        async with client.port_forward("other", 80):
            pass


async def test_leaving_closes_open_connections(client: Client, echo_port: int) -> None:
    async with client.port_forward("web", echo_port) as forward:
        reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
        writer.write(b"x")
        await writer.drain()
        stream = await forward.connect()
    assert await reader.read() == b""
    with pytest.raises(ConnectionError):
        await stream.write(b"y")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", forward.port)
    writer.close()


@pytest.mark.parametrize("port", [0, -1, 65536])
async def test_rejects_what_is_not_a_port(client: Client, port: int) -> None:
    with pytest.raises(ValueError, match="not a port"):
        client.port_forward("web", port)


@pytest.mark.parametrize("turns", range(6))
async def test_closes_connections_that_arrive_at_the_end(client: Client, unused_port: int, turns: int) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as connection:
        connection.setblocking(False)
        async with client.port_forward("web", unused_port) as forward:
            await loop.sock_connect(connection, ("127.0.0.1", forward.port))
            for _ in range(turns):  # the connection is accepted in one of these turns of the event loop
                await asyncio.sleep(0)
        with contextlib.suppress(ConnectionResetError):
            assert await loop.sock_recv(connection, 1) == b""
