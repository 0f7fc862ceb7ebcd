"""The probe of the API server, on a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kubewright.client import Client, ConnectionLost, Request, RetryPolicy, Unavailable
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import Connection
from tests.transports.disturbed import Disturbed

ONCE = RetryPolicy(attempts=1)


def hang(server: Disturbed) -> asyncio.Event:
    """Holds each request until the returned event is set."""
    answers = asyncio.Event()

    async def wait(_: Request) -> None:
        await answers.wait()

    server.before = wait
    return answers


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def server(cluster: Cluster) -> Disturbed:
    return Disturbed(cluster.transport())


@pytest.fixture
async def client(server: Disturbed, clock: VirtualClock) -> AsyncIterator[Client]:
    async with Client(transport=server, clock=clock) as made:
        yield made


async def test_hanging_server_is_lost_within_ten_seconds(
    client: Client, server: Disturbed, clock: VirtualClock
) -> None:
    connection = Connection(client, clock)
    assert not connection.lost
    task = asyncio.create_task(connection.run())
    await clock.advance(0.1)
    assert connection.state == "connected"
    answers = hang(server)
    await clock.advance(9.9)
    assert connection.lost
    assert connection.error == "no answer within 4s"
    assert connection.lost_since == connection.last_answer_at

    answers.set()
    await clock.advance(5)
    assert connection.state == "connected"
    assert connection.lost_since is None
    task.cancel()
    await asyncio.wait([task])


async def test_refused_connection_counts_down_to_the_next_attempt(
    client: Client, server: Disturbed, clock: VirtualClock
) -> None:
    connection = Connection(client, clock)
    server.before = ConnectionLost("connection refused", sent=False)
    task = asyncio.create_task(connection.run())
    await clock.advance(0.1)
    assert connection.lost
    assert connection.error == "connection refused"
    waits = []
    for _ in range(5):
        assert connection.retry_at is not None
        waits.append(round((connection.retry_at - clock.now()).total_seconds(), 1))
        await clock.advance(waits[-1])
    assert waits == [0.9, 2.0, 3.0, 5.0, 5.0]
    task.cancel()
    await asyncio.wait([task])


async def test_requests_fail_immediately_while_the_connection_is_lost(
    client: Client, server: Disturbed, clock: VirtualClock
) -> None:
    connection = Connection(client, clock)
    guarded = connection.guard(client, ONCE)
    await guarded.server_version()
    answers = hang(server)
    waiting = asyncio.create_task(guarded.server_version())
    probing = asyncio.create_task(connection.probe())
    await clock.advance(4)
    await probing
    with pytest.raises(Unavailable, match="does not respond: no answer within 4s"):
        await waiting
    with pytest.raises(Unavailable, match="does not respond"):
        await guarded.server_version()
    answers.set()
    await connection.probe()
    await guarded.server_version()


async def test_request_without_response_starts_the_next_probe(
    client: Client, server: Disturbed, clock: VirtualClock
) -> None:
    connection = Connection(client, clock)
    guarded = connection.guard(client, ONCE)
    task = asyncio.create_task(connection.run())
    await clock.advance(0.1)
    assert connection.state == "connected"
    server.before = ConnectionLost("connection refused", sent=False)
    with pytest.raises(Unavailable):
        await guarded.server_version()
    await clock.advance(0)
    assert connection.lost  # not only after three seconds
    assert connection.retry_at is not None
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
