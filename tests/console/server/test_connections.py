"""Connection limits and deadlines. Time is virtual, sockets are real."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kubewright.certificates import CertificateAuthority
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import Console, Limits
from kubewright.console.server import Connection, Connections
from tests.patience import PATIENCE

LIMITS = Limits(connections=3, reserved=2)
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


# Decisions, without a server


class Pairs:
    """Returns one end of each pair of connected sockets."""

    def __init__(self) -> None:
        self._open: list[socket.socket] = []

    def __call__(self) -> socket.socket:
        self._open += (pair := socket.socketpair())
        return pair[0]

    def close(self) -> None:
        for one in self._open:
            one.close()


@pytest.fixture
def sockets() -> Iterator[Pairs]:
    made = Pairs()
    yield made
    made.close()


def closed(connection: Connection) -> bool:
    """Whether this side closed the connection."""
    try:
        connection.sock.send(b"x")
    except OSError:
        return True
    return False


def busy(connection: Connection) -> Connection:
    connection.end_header()
    connection.end_body()
    return connection


def next_request(connection: Connection) -> None:
    busy(connection).end_response()
    connection.begin_request()


async def test_new_connection_replaces_longest_idle_one(clock: VirtualClock, sockets: Pairs) -> None:
    all_ = Connections(LIMITS, clock)
    worker = busy(all_.admit(sockets()))
    silent = []
    for _ in range(600):
        silent.append(all_.admit(sockets()))
        await clock.advance(0.001)
    assert len(all_) == LIMITS.connections
    assert [closed(one) for one in silent] == [True] * 598 + [False] * 2
    assert not closed(worker)


async def test_client_with_unfinished_body_counts_as_idle(clock: VirtualClock, sockets: Pairs) -> None:
    all_ = Connections(LIMITS, clock)
    first = all_.admit(sockets())
    first.end_header()
    for _ in range(2):
        busy(all_.admit(sockets()))
    await clock.advance(1)
    assert not all_.admit(sockets()).reserved
    assert closed(first)


async def test_reserves_connections_when_all_are_busy(clock: VirtualClock, sockets: Pairs) -> None:
    all_ = Connections(LIMITS, clock)
    workers = [busy(all_.admit(sockets())) for _ in range(3)]
    reserved = [all_.admit(sockets()) for _ in range(20)]
    assert len(all_) == LIMITS.connections + LIMITS.reserved
    assert [closed(one) for one in reserved] == [True] * 18 + [False] * 2
    assert not any(map(closed, workers))
    assert not all_.may_serve(reserved[-1])
    for worker in workers:
        worker.sock.close()
    assert all_.may_serve(reserved[-1])


DEADLINES: list[tuple[str, Callable[[Connection], Any], float]] = [
    ("header", lambda one: None, 32),
    ("body", lambda one: one.end_header(), 32),
    ("response", lambda one: busy(one), 120),
    ("idle", lambda one: busy(one).end_response(), 60),
    ("header", lambda one: next_request(one), 32),
]


@pytest.mark.parametrize(("reason", "until_there", "seconds"), DEADLINES)
async def test_closes_connection_after_deadline(
    clock: VirtualClock, sockets: Pairs, reason: str, until_there: Callable[[Connection], Any], seconds: float
) -> None:
    all_ = Connections(Limits(), clock)
    connection = all_.admit(sockets())
    until_there(connection)
    await clock.advance(seconds - 1)
    connection.begin_request() if reason == "header" else None  # a further byte does not extend the deadline
    assert all_.sweep() == []
    await clock.advance(1)
    assert all_.sweep() == [(connection, reason)]
    assert closed(connection)


async def test_websocket_has_no_deadline_while_client_reads(clock: VirtualClock, sockets: Pairs) -> None:
    all_ = Connections(Limits(), clock)
    connection = busy(all_.admit(sockets()))
    connection.upgrade()
    await clock.advance(86_400)
    assert all_.sweep() == []


class Sending(asyncio.Transport):
    """A transport with unsent data."""

    unsent = 0
    aborted = False

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.aborted = True


@pytest.mark.parametrize(("rate", "whether"), [(0, True), (-1_000, True), (100, True), (600, False)])
async def test_closes_slow_reader(clock: VirtualClock, sockets: Pairs, rate: int, whether: bool) -> None:
    all_ = Connections(Limits(), clock)
    connection = all_.admit(sockets())
    connection.upgrade()
    connection.transport = transport = Sending()
    transport.unsent = 1_000_000
    for _ in range(120):
        all_.sweep()
        await clock.advance(1)
        transport.unsent -= rate  # bytes per second; a negative rate grows the buffer
    assert transport.aborted is whether


# The server


@pytest.fixture
async def console(cluster: Cluster, clock: VirtualClock) -> AsyncIterator[Console]:
    async with Console(cluster.client(), clock=clock, limits=LIMITS) as made:
        yield made


class Streams:
    """Raw connections to the console."""

    def __init__(self, url: str, stack: AsyncExitStack) -> None:
        self._port = int(url.rpartition(":")[2])
        self._stack = stack

    async def open(self, data: bytes = b"", **more: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, **more)
        self._stack.callback(lambda: writer.transport.abort())  # an unreferenced writer would be closed
        writer.write(data)
        return reader, writer

    async def ask(self, data: bytes) -> bytes:
        """Returns everything until the server closes the connection or answers a health check."""
        reader, _ = await self.open(data)
        return await self.read(reader)

    async def read(self, reader: asyncio.StreamReader) -> bytes:
        said = b""
        async with asyncio.timeout(PATIENCE):
            while not said.endswith(b"ok\n"):
                try:
                    more = await reader.read(65_536)
                except ConnectionResetError:
                    break
                if not more:
                    break
                said += more
        return said


@pytest.fixture
async def streams(console_url: str) -> AsyncIterator[Streams]:
    async with AsyncExitStack() as stack:
        yield Streams(console_url, stack)


async def ends(reader: asyncio.StreamReader, clock: VirtualClock | None = None) -> None:
    """Waits until the server has closed the connection, while virtual seconds pass."""
    async with asyncio.timeout(PATIENCE):
        ending = asyncio.ensure_future(reader.read())
        while not ending.done():
            if clock is not None:
                await clock.advance(1)
            await asyncio.sleep(0.01)  # real: for the sockets, while virtual time advances
        assert ending.exception() is None or isinstance(ending.exception(), ConnectionResetError)


BEGUN = [
    b"",
    b"GET / HT",
    b"GET / HTTP/1.1\r\nHost: local",
    b"\r\n",
    b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Length: 9\r\n\r\ntok",
    GET + b"GET / HTTP/1.1\r\nHo",
]


@pytest.mark.parametrize("begun", BEGUN)
async def test_closes_unfinished_request(streams: Streams, clock: VirtualClock, begun: bytes) -> None:
    reader, _ = await streams.open(begun)
    if begun.startswith(GET):
        assert (await reader.readuntil(b"ok\n")).startswith(b"HTTP/1.1 200")
    await ends(reader, clock)
    assert clock.monotonic() >= 32


async def test_answers_probes_while_silent_connections_fill_the_server(streams: Streams) -> None:
    silent = [await streams.open(b"GET / HT") for _ in range(20)]
    for _ in range(5):
        assert (await streams.ask(GET)).startswith(b"HTTP/1.1 200")
    await ends(silent[0][0])


@pytest.fixture
async def full(console: Console, console_url: str) -> AsyncIterator[None]:
    """Opens WebSockets up to the limit of connections. None of them is idle."""
    _, secret = console.sessions.begin(console.viewer("ann"))
    jar = aiohttp.CookieJar(unsafe=True)
    jar.update_cookies({f"kubewright-{console_url.rpartition(':')[2]}": secret})
    async with aiohttp.ClientSession(console_url, cookie_jar=jar) as http, AsyncExitStack() as stack:
        for _ in range(LIMITS.connections):
            opening = http.ws_connect("/_nicegui_ws/socket.io/?EIO=4&transport=websocket", origin=console_url)
            opened = await stack.enter_async_context(opening)
            assert (await opened.receive_str()).startswith("0{")
        yield


@pytest.mark.promise(
    "Access to the console and its cost",
    "600 hostile connections take less than 64 MB, and probes are still answered.",
)
@pytest.mark.usefixtures("full")
async def test_answers_probes_while_all_connections_are_busy(streams: Streams) -> None:
    for _ in range(5):
        assert (await streams.ask(GET)).startswith(b"HTTP/1.1 200")
    for begun in (
        "GET / HTTP/1.1",
        "GET /_nicegui_ws/socket.io/ HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade",
    ):
        said = await streams.ask(f"{begun}\r\nHost: localhost\r\n\r\n".encode())
        assert said.startswith(b"HTTP/1.1 503 Service Unavailable")
        assert b"retry-after" in said


POST = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
TOO_LARGE = [
    (b"GET /" + b"x" * 40_000, b"HTTP/1.1 431"),
    (b"GET / HTTP/1.1\r\nA: " + b"x" * 40_000, b"HTTP/1.1 431"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nA: " + b"x" * 40_000 + b"\r\n\r\n", b"HTTP/1.1 431"),
    (b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 200, b"HTTP/1.1 431"),
    (POST + b"Content-Length: 1000001\r\n\r\n", b"HTTP/1.1 413"),
    (POST + b"Content-Length: 99999999999999999\r\n\r\n", b"HTTP/1.1 413"),
]


@pytest.mark.parametrize(("request_", "status"), TOO_LARGE)
async def test_rejects_oversized_request(streams: Streams, request_: bytes, status: bytes) -> None:
    assert (await streams.ask(request_)).startswith(status)


async def test_rejects_endless_body(streams: Streams) -> None:
    _, writer = await streams.open(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    with pytest.raises(ConnectionError):
        async with asyncio.timeout(PATIENCE):
            while True:
                writer.write(b"ffff\r\n" + b"x" * 65_535 + b"\r\n")
                await writer.drain()
                await asyncio.sleep(0)


async def test_closes_client_with_too_many_pipelined_requests(streams: Streams) -> None:
    said = await streams.ask(b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5_000)
    assert said.count(b"HTTP/1.1 200") < 20


async def test_rejects_oversized_socket_message(console: Console, console_url: str) -> None:
    _, secret = console.sessions.begin(console.viewer("ann"))
    jar = aiohttp.CookieJar(unsafe=True)
    jar.update_cookies({f"kubewright-{console_url.rpartition(':')[2]}": secret})
    async with aiohttp.ClientSession(console_url, cookie_jar=jar) as http:
        socket_ = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        async with http.ws_connect(socket_, origin=console_url) as opened, asyncio.timeout(PATIENCE):
            await opened.send_bytes(b"x" * 1_000_001)
            while (await opened.receive()).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
                pass
            assert opened.close_code == 1009


async def test_limits_sockets_per_viewer(cluster: Cluster) -> None:
    async with Console(cluster.client(), pages_per_viewer=1) as console, console.serving() as url:
        sessions = []
        for name in ("ann", "ben"):
            _, secret = console.sessions.begin(console.viewer(name))
            jar = aiohttp.CookieJar(unsafe=True)
            jar.update_cookies({f"kubewright-{url.rpartition(':')[2]}": secret})
            sessions.append(aiohttp.ClientSession(url, cookie_jar=jar))
        async with sessions[0] as ann, sessions[1] as ben, AsyncExitStack() as stack:
            where = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
            for http in (ann, ann, ben):
                await (await stack.enter_async_context(http.ws_connect(where, origin=url))).receive_str()
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await ann.ws_connect(where, origin=url)


async def test_tls_handshake_counts_as_connection(cluster: Cluster, clock: VirtualClock, tmp_path: Path) -> None:
    authority = CertificateAuthority("tests")
    certificate, key = authority.issue("console", hosts=["127.0.0.1"]).write(tmp_path, "tls")
    trusting = ssl.create_default_context(cadata=authority.pair.certificate.decode())
    async with (
        Console(cluster.client(), clock=clock, limits=LIMITS) as console,
        console.serving(certificate=certificate, key=key) as url,
        AsyncExitStack() as stack,
    ):
        streams = Streams(url, stack)
        silent = [await streams.open(begun) for begun in (b"", b"\x16\x03\x01") * 5]
        for reader, _ in silent[:5]:
            await ends(reader)
        reader, _ = await streams.open(GET, ssl=trusting)
        assert (await streams.read(reader)).startswith(b"HTTP/1.1 200")
        for reader, _ in silent[5:]:
            await ends(reader, clock)
