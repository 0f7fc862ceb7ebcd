"""HTTP/1.1 as the client speaks it, against servers on loopback that say exactly what a test wants."""

from __future__ import annotations

import asyncio
import gzip
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import core
from kubewright.client import (
    Client,
    ClientConfig,
    ConfigError,
    ConnectionLost,
    Credentials,
    ExecPlugin,
    HttpTransport,
    Request,
    Unavailable,
)
from kubewright.client import _connection as connection_module  # private: feeds a connection bytes that no server sends
from kubewright.client._heads import Headers, ServerAddress, head_of  # private: parses headers that no server sends
from kubewright.client._pool import Closed  # private: the pool's own error, which the transport translates
from kubewright.client.credentials import Identity
from kubewright.clock import SystemClock
from tests.client.http_server import serving
from tests.patience import PATIENCE

KIB = 1024
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def transport_to(address: str, **config: Any) -> AsyncIterator[HttpTransport]:
    made = HttpTransport(ClientConfig(server=address, credentials=Credentials(), **config), SystemClock())
    try:
        yield made
    finally:
        await made.close()


class Server:
    """Answers each request with the next of the given texts. An empty one closes the connection."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.connections = 0
        self.heads: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while self.answers:
            try:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            except asyncio.IncompleteReadError:
                return
            if not (answer := self.answers.pop(0)):
                return
            for byte in answer if len(answer) < KIB else [answer]:  # one at a time: nothing depends on where it is cut
                writer.write(byte if isinstance(byte, bytes) else bytes([byte]))
                await asyncio.sleep(0)
            await writer.drain()
        await reader.read()


def get(**fields: Any) -> Request:
    return Request(**{"method": "GET", "path": "/", "repeatable": True, **fields})


async def body_of(server: Server, **fields: Any) -> bytes:
    async with serving(server) as address, transport_to(address) as transport:
        return await (await transport.send(get(**fields))).read()


# What an answer may look like


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


# What is sent


async def test_what_a_request_looks_like() -> None:
    server = Server(OK, OK)
    headers = {"Accept": "application/json", "X-Name": "Jürgen"}
    async with serving(server) as address, transport_to(f"{address}/prefix") as transport:
        query = [("labelSelector", "a in (b,c)"), ("x", "ü&=")]
        await (await transport.send(get(path="/api", query=query, headers=headers))).read()
        await (await transport.send(Request(method="POST", path="/api"))).read()
    first, second = (head.decode().split("\r\n") for head in server.heads)
    assert first[0] == "GET /prefix/api?labelSelector=a%20in%20(b,c)&x=%C3%BC%26%3D HTTP/1.1"
    assert first[1] == f"Host: {address.removeprefix('http://')}"
    assert {"Accept: application/json", "X-Name: Jürgen", "Accept-Encoding: identity"} < set(first)
    assert not any(line.startswith("Content-Length") for line in first)
    assert "Content-Length: 0" in second


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        ("/a b", "A", "b"),
        ("/a\r\nB: c", "A", "b"),
        ("/", "A\r\nB", "c"),
        ("/", "A", "s3cret\r\nB: c"),
        ("/", "A:", "b"),
    ],
)
def test_rejects_header_injection(target: str, name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"not a valid HTTP request|characters that HTTP does not allow") as caught:
        head_of("GET", target, [(name, value)])
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "name", "authority"),
    [
        ("https://example.com", "example.com", "example.com:443"),
        ("https://example.com:6443/k8s/", "example.com:6443", "example.com:6443"),
        ("http://[::1]:80", "[::1]", "[::1]:80"),
        ("http://bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example:80"),
    ],
)
def test_the_names_of_servers(url: str, name: str, authority: str) -> None:
    place = ServerAddress.of(url)
    assert (place.name, place.authority) == (name, authority)
    assert place.url == f"{url.split(':')[0]}://{name}"


@pytest.mark.parametrize("url", ["example.com:6443", "ftp://example.com", "https://", "https://a:port"])
def test_rejects_an_invalid_server_url(url: str) -> None:
    with pytest.raises(ConfigError, match="the URL of the server or of its proxy is not valid: "):
        HttpTransport(ClientConfig(server=url, credentials=Credentials()), SystemClock())


async def test_a_large_body_waits_for_a_slow_server_and_arrives_whole() -> None:
    body, received = bytes(range(256)) * 40 * KIB, bytearray()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        while len(received) < len(body):
            received.extend(await reader.read(2**16))
            await asyncio.sleep(0)
        writer.write(OK)

    async with serving(handle) as address, transport_to(address) as transport:
        response = await transport.send(Request(method="POST", path="/", body=body))
        assert await response.read() == b"ok"
    assert received == body


async def test_server_may_answer_before_it_has_read_the_body() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await done.wait()

    done = asyncio.Event()
    async with serving(handle) as address, transport_to(address) as transport:
        response = await transport.send(Request(method="POST", path="/", body=bytes(50 * KIB * KIB)))
        assert response.status == 413
        connection = response.connection
        assert await response.read() == b""
        assert connection is not None
        assert not connection.is_open  # half of a request is still on its way
        done.set()


# How connections are used


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


# Opening


@asynccontextmanager
async def dialing_indefinitely(
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[HttpTransport, asyncio.Task[Any]]]:
    """A transport, and a request that waits for its connection."""
    dialing = asyncio.Event()

    async def dial(*_: object) -> None:
        dialing.set()
        await asyncio.Event().wait()

    async with transport_to("http://127.0.0.1:1") as transport:
        monkeypatch.setattr(transport._dialer, "dial", dial)
        asking = asyncio.create_task(transport.send(get()))
        await dialing.wait()
        yield transport, asking


async def test_a_client_that_is_closed_while_it_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    async with dialing_indefinitely(monkeypatch) as (transport, asking):
        await transport.close()
        with pytest.raises(ConnectionLost, match="the client was closed") as caught:
            await asking
        assert caught.value.final


async def test_a_client_that_is_closed_while_it_waits_for_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(OK)
    async with serving(server) as address, transport_to(address) as transport:
        asked, answered, identity = asyncio.Event(), asyncio.Event(), transport._authenticator.identity

        async def slow() -> Identity:
            asked.set()
            await answered.wait()
            return await identity()

        monkeypatch.setattr(transport._authenticator, "identity", slow)
        asking = asyncio.create_task(transport.send(get()))
        await asked.wait()
        await transport.close()
        answered.set()
        with pytest.raises(ConnectionLost, match="the client was closed") as caught:
            await asking
        assert caught.value.final
        assert not server.connections


async def test_closing_a_client_does_not_cancel_the_task_that_waits_for_its_plugin(tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    plugin = ExecPlugin(command="/bin/sh", args=("-c", 'echo > "$0"; sleep 60', str(started)))
    config = ClientConfig(server="http://127.0.0.1:1", credentials=Credentials(exec=plugin))
    transport = HttpTransport(config, SystemClock())
    asking = asyncio.create_task(transport.send(get()))
    await asyncio.to_thread(started.read_bytes)
    await transport.close()
    with pytest.raises(ConnectionLost, match="the client was closed") as caught:
        await asking
    assert caught.value.final


async def test_cancellation_wins_over_closing_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async with dialing_indefinitely(monkeypatch) as (transport, asking):
        pool = transport._pool
        assert pool is not None
        asking.cancel()
        await transport.close()
        with pytest.raises(asyncio.CancelledError):
            await asking
        with pytest.raises(Closed):
            await pool.open(await transport._authenticator.identity())


async def test_a_watch_ends_when_its_client_is_closed() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        watching.set()
        await reader.read()

    watching = asyncio.Event()
    async with serving(handle) as address:
        client = Client(ClientConfig(server=address))

        async def watch() -> None:
            async for _ in client.watch(core.Node, resource_version="1"):
                pass

        task = asyncio.create_task(watch())
        await watching.wait()
        transport: Any = client._transport
        while not any(each.status for each in transport._pool._open):  # noqa: ASYNC110  # until the head is there, too
            await asyncio.sleep(0)
        await client.close()
        with pytest.raises(Unavailable, match="the client was closed"):
            await task


async def test_rejects_an_invalid_host() -> None:
    async with transport_to(f"http://{'x' * 70}.example") as transport:
        with pytest.raises(ConnectionLost, match="is not a valid server name"):
            await transport.send(get())


async def test_connect_timeout_differs_from_response_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async def dial(*_: object) -> None:
        await asyncio.Event().wait()

    async with transport_to("http://127.0.0.1:1") as transport:
        monkeypatch.setattr(transport._dialer, "dial", dial)
        with pytest.raises(TimeoutError):
            await transport.send(get(timeout=0.01))
        # private: a timeout that is not a setting
        monkeypatch.setattr("kubewright.client._pool._CONNECT_SECONDS", 0.02)
        with pytest.raises(ConnectionLost, match=r"cannot connect to \S+ within 20ms") as caught:
            await transport.send(get())
        assert not caught.value.sent


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    server = Server(OK)
    async with serving(server) as address, transport_to("http://several.example") as transport:
        loop, port = asyncio.get_running_loop(), int(address.rpartition(":")[2])

        async def getaddrinfo(*_: object, **__: object) -> list[Any]:
            return [(2, 1, 6, "", ("127.0.0.1", 1)), (2, 1, 6, "", ("127.0.0.1", port))]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop, "getaddrinfo", getaddrinfo)
            assert (await transport.send(get())).status == 200


async def test_a_new_tls_context_opens_a_new_connection() -> None:
    server = Server(OK, OK)
    async with serving(server) as address, transport_to(address) as transport:
        await (await transport.send(get())).read()
        identity = await transport._authenticator.identity()
        assert transport._pool is not None
        other = type(identity)(identity.headers, ssl.create_default_context(), None)
        assert transport._pool.take(other) is None
        assert transport._pool.take(identity) is None  # it was closed: its credentials are outdated
