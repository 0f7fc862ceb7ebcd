"""Attacks with connections, on every server that we ship: silent, half sent, endless, never read."""

from __future__ import annotations

import asyncio
import ssl
from typing import NamedTuple

import pytest
import pytest_asyncio

from tests.attacks.conftest import Shared
from tests.attacks.harness import COPIES, Victim, assault
from tests.attacks.payloads import gzip_bomb
from tests.attacks.wires import CONNECTIONS, opened, trusting, wires

pytestmark = pytest.mark.asyncio(loop_scope="module")
CHECK = "/validate/check.toys.webhooks.example.com"
SERVERS = ["health", "metrics", "webhook", "console", "cluster"]
HELD = CONNECTIONS if COPIES == 1 else 50


class Target(NamedTuple):
    """A server in a child."""

    victim: Victim
    port: int
    tls: ssl.SSLContext | None
    path: str
    most: int = 600
    """More sockets than it keeps, whatever clients open. Each watch of a cluster needs one."""


@pytest_asyncio.fixture(params=SERVERS, loop_scope="module")
async def target(request: pytest.FixtureRequest, shared: Shared) -> Target:
    name = request.param
    if name == "cluster":
        api = await shared.cluster()
        return Target(api.victim, api.port, trusting(), "/api/v1/namespaces/default/configmaps", 1_450)
    if name == "console":
        victim = await shared.operator("console")
        port = int(victim.facts["console"].split("/")[2].rpartition(":")[2])
        return Target(victim, port, None, "/sign-in")
    victim = await shared.operator()
    paths = {"webhook": CHECK, "health": "/healthz", "metrics": "/metrics"}
    return Target(victim, victim.facts[name], trusting() if name == "webhook" else None, paths[name])


async def hold(target: Target, first: bytes, *, handshake: bool = True) -> None:
    """Holds many connections open, while the server is probed."""
    async with wires(target.port, first, tls=target.tls if handshake else None, count=HELD):
        await target.victim.probed(3)


async def test_survives_connections_that_say_nothing(target: Target) -> None:
    await assault(target.victim, lambda: hold(target, b"", handshake=False))


async def test_survives_requests_whose_head_never_ends(target: Target) -> None:
    head = f"POST {target.path} HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".encode()
    await assault(target.victim, lambda: hold(target, head))


async def test_survives_requests_whose_body_never_ends(target: Target) -> None:
    head = f"POST {target.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{{".encode()
    await assault(target.victim, lambda: hold(target, head))


async def test_caps_the_number_of_connections(target: Target) -> None:
    """The server closes connections when there are too many, and a new client is still served."""
    count = 1_500 if COPIES == 1 else 50  # the attacker's own file descriptors are limited, too

    async def attack() -> None:
        async with wires(target.port, b"GET ", tls=None, count=count):
            await target.victim.probed(1)
            assert target.victim.connections() < target.most

    await assault(target.victim, attack)


async def test_bounds_the_size_of_a_head(target: Target) -> None:
    async def attack() -> None:
        wire = await opened(target.port, target.tls)
        assert wire is not None
        await wire.send(f"GET {target.path} HTTP/1.1\r\nHost: localhost\r\n".encode())
        await wire.flood(b"X-Long: " + b"x" * 65_536, 1_000)
        wire.close()

    await assault(target.victim, attack)


@pytest.mark.parametrize("encoding", ["", "Content-Encoding: gzip\r\n", "Content-Encoding: deflate\r\n"])
async def test_bounds_the_size_of_a_body(target: Target, encoding: str) -> None:
    """A body in chunks that never ends, also one that is small on the wire and large when it is unpacked."""
    piece = gzip_bomb() if encoding else b"x" * 65_536
    chunk = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
    head = f"POST {target.path} HTTP/1.1\r\nHost: localhost\r\n{encoding}Transfer-Encoding: chunked\r\n\r\n"

    async def attack() -> None:
        wire = await opened(target.port, target.tls)
        assert wire is not None
        await wire.send(head.encode())
        await wire.flood(chunk, 1 if encoding else 1_500)
        await asyncio.sleep(0.1)  # real: the client is slow
        wire.close()

    await assault(target.victim, attack)


async def test_bounds_what_waits_for_a_client_that_does_not_read(target: Target) -> None:
    """Requests one after the other on a connection whose answers are never read."""
    request = f"GET {target.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 200

    async def attack() -> None:
        for _ in range(10 if COPIES == 1 else 1):
            wire = await opened(target.port, target.tls)
            assert wire is not None
            wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await wire.flood(request, 50)
            wire.close()

    await assault(target.victim, attack)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00" * 10_000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nx",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
async def test_survives_what_is_not_http(target: Target, garbage: bytes) -> None:
    async def attack() -> None:
        for _ in range(20):
            wire = await opened(target.port, target.tls)
            if wire is not None:
                await wire.send(garbage)
                wire.close()

    await assault(target.victim, attack)
