"""Tests of `Relays`, which cut a pod off from the API server."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest
from relays import Relays

TIMEOUT = 60.0
"""Seconds: a connection that is never closed fails the test after this time. Nothing else depends on it."""


@pytest.mark.parametrize("turns", range(10))
def test_closes_connections_that_arrive_while_it_stops(turns: int) -> None:
    async def accept_and_stop(server: socket.socket) -> socket.socket:
        relays = Relays(server.getsockname(), 1)
        await relays.start()
        connection = socket.create_connection(("127.0.0.1", relays.base), TIMEOUT)
        for _ in range(turns):  # the connection is accepted, and forwarded, in one of these turns of the event loop
            await asyncio.sleep(0)
        await relays.stop()
        return connection

    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        asyncio.run(accept_and_stop(server)) as connection,
        contextlib.suppress(ConnectionResetError),
    ):
        assert connection.recv(1) == b""


async def test_opens_a_way_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        relays = Relays(server.getsockname(), 2)
        await relays.start()
        await relays.cut(1)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", relays.base + 1), TIMEOUT)
        assert await relays.restore(1)
        socket.create_connection(("127.0.0.1", relays.base + 1), TIMEOUT).close()
        await relays.stop()
