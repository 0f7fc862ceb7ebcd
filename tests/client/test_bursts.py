"""Bursts are gathered; a change that comes alone never waits."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest

from kubewright.client import ClientConfig, Credentials, HttpTransport, Request
from kubewright.client._bursts import Bursts  # private: drives it with a loop that counts turns
from kubewright.clock import SystemClock
from tests.client.http_server import serving

KIB = 1024


class Socket:
    """Keeps what the kernel is asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.knows_how = True

    def setsockopt(self, level: int, option: int, value: int) -> None:
        if not self.knows_how:
            raise OSError(errno.ENOPROTOOPT, "no such option")
        assert (level, option) == (socket.SOL_SOCKET, socket.SO_RCVLOWAT)
        self.asked.append(value)


class Transport(asyncio.BaseTransport):
    def __init__(self) -> None:
        super().__init__()
        self.socket = Socket()
        self.closing = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.socket if name == "socket" else default

    def is_closing(self) -> bool:
        return self.closing


class Timer:
    def __init__(self, when: float, call: Callable[[], None]) -> None:
        self.when, self.call, self.cancelled = when, call, False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Time that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + delay, call))
        return self.timers[-1]

    def passes(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer.when <= self.now]
        self.timers = [timer for timer in self.timers if timer.when > self.now]
        for timer in due:
            if not timer.cancelled:
                timer.call()

    @property
    def waits(self) -> bool:
        return any(not timer.cancelled for timer in self.timers)


class Connection:
    def __init__(self) -> None:
        self.transport, self.loop = Transport(), Loop()
        self.bursts = Bursts(self.transport, self.loop)  # type: ignore[arg-type]

    @property
    def asked(self) -> list[int]:
        return self.transport.socket.asked


def test_occasional_changes_are_received_immediately() -> None:
    connection = Connection()
    for _ in range(1000):
        connection.bursts.arrived(2 * KIB)
        connection.loop.passes(0.001)
    assert connection.asked == []


def test_a_burst_is_gathered_until_it_ends() -> None:
    connection = Connection()
    for _ in range(16):
        connection.bursts.arrived(4 * KIB)
    assert connection.asked == [256 * KIB]
    for _ in range(5):
        connection.loop.passes(0.004)
        connection.bursts.arrived(256 * KIB)
    assert connection.asked == [256 * KIB]
    connection.loop.passes(0.006)
    assert connection.asked == [256 * KIB, 1]


def test_waiting_data_decides_whether_a_burst_is_over() -> None:
    connection = Connection()
    connection.bursts.arrived(64 * KIB)
    connection.loop.passes(0.006)
    connection.bursts.arrived(100 * KIB)
    assert connection.asked == [256 * KIB, 1, 256 * KIB]
    connection.loop.passes(0.006)
    connection.bursts.arrived(20 * KIB)
    assert connection.asked == [256 * KIB, 1, 256 * KIB, 1]
    assert not connection.loop.waits


def test_restores_the_connection() -> None:
    connection = Connection()
    connection.bursts.arrived(64 * KIB)
    connection.bursts.close()
    assert connection.asked == [256 * KIB, 1]
    assert not connection.loop.waits
    connection.bursts.close()
    assert connection.asked == [256 * KIB, 1]


def test_a_connection_that_closes_is_not_touched() -> None:
    connection = Connection()
    connection.transport.closing = True
    connection.bursts.arrived(64 * KIB)
    assert connection.asked == []
    assert not connection.loop.waits


def test_unsupported_system_is_tried_once() -> None:
    connection = Connection()
    connection.transport.socket.knows_how = False
    connection.bursts.arrived(64 * KIB)
    connection.transport.socket.knows_how = True
    connection.bursts.arrived(64 * KIB)
    assert connection.asked == []
    assert not connection.loop.waits


@pytest.mark.skipif(sys.platform != "linux", reason="other systems answer with other numbers, or none")
async def test_list_in_a_watch_is_gathered_and_later_changes_arrive_alone() -> None:
    """Over a real socket: what the kernel was asked for, while it comes fast and after it."""
    event = b'{"type":"ADDED","object":{"data":"' + b"x" * 4 * KIB + b'"}}\n'
    listed, go_on = 1000 * len(event), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        for _ in range(1000):
            writer.write(event)
            await writer.drain()
        await go_on.wait()
        writer.write(b"alone\n")
        await writer.drain()
        await reader.read()  # until the client is done

    async with serving(serve) as address:
        transport = HttpTransport(ClientConfig(server=address, credentials=Credentials()), SystemClock())
        response = await transport.send(Request(method="GET", path="/watch", stream=True))
        connection = response.connection
        assert connection is not None
        assert connection.transport is not None
        reading = connection.transport.get_extra_info("socket")

        def low_water() -> int:
            return int(reading.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT))

        pieces, asked, received = response.chunks(), set(), 0
        try:
            while received < listed:
                received += len(await anext(pieces))
                asked.add(low_water())
            assert max(asked) > 1
            go_on.set()
            assert await anext(pieces) == b"alone\n"
            assert low_water() == 1
        finally:
            await pieces.aclose()
            await transport.close()


async def test_connection_is_restored_before_it_is_reused() -> None:
    size, lows = 1000 * KIB, list[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
            await writer.drain()

    async with serving(serve) as address:
        transport = HttpTransport(ClientConfig(server=address, credentials=Credentials()), SystemClock())
        connections = []
        for _ in range(2):
            response = await transport.send(Request(method="GET", path="/list"))
            assert response.connection is not None
            connections.append(response.connection)
            reading = response.connection.transport.get_extra_info("socket")  # type: ignore[union-attr]
            async for _ in response.chunks():
                lows.append(reading.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT))
            assert reading.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 1
        await transport.close()
    assert connections[0] is connections[1]
    assert max(lows) > 1
