"""The server: messages, framing, streams, the end of connections and of the server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from kubewright.certificates import CertificateAuthority
from kubewright.clock import VirtualClock
from kubewright.http import BodyTooLarge, DropConnection, Server, ServerRequest, ServerResponse
from tests.http.conftest import echo, wire
from tests.patience import PATIENCE, until

GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"


# Messages


async def test_answers_several_requests_on_one_connection() -> None:
    async with Server(echo) as server, wire(server) as client:
        for body in (b"one", b"", b"x" * 300_000):
            client.send(b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            status, headers, answer = await client.response()
            assert (status, answer) == (200, b"POST /p " + body)
            assert "date" in headers
            assert "connection" not in headers


async def test_sends_small_responses_without_delay() -> None:
    """The kernel would otherwise keep the second part of a response until the client has acknowledged the first."""
    async with Server(echo) as server, wire(server) as client:
        client.send(GET)
        assert (await client.response())[0] == 200
        (connection,) = server.connections
        assert connection.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_shows_path_query_headers_and_peer_to_the_handler() -> None:
    seen: list[ServerRequest] = []

    async def look(request: ServerRequest) -> ServerResponse:
        seen.append(request)
        return ServerResponse()

    async with Server(look) as server, wire(server) as client:
        client.send(b"GET /a%20b?c=%C3%A4 HTTP/1.1\r\nHost: x\r\nX-One: 1\r\nx-one: 2\r\n\r\n")
        assert (await client.response())[0] == 200
        client.send(b"GET http://proxied/path?q HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await client.response())[0] == 200
    first, second = seen
    assert (first.path, first.query, first.peer, first.certificate) == ("/a%20b", "c=%C3%A4", "127.0.0.1", None)
    assert (first.headers["X-ONE"], first.headers.all("x-one")) == ("2", ["1", "2"])
    assert (second.path, second.query) == ("/path", "q")


async def test_reads_chunked_bodies_and_drops_trailers() -> None:
    async with Server(echo) as server, wire(server) as client:
        client.send(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nA: b\r\n\r\n"
        )
        assert (await client.response())[2] == b"POST / abcde"
        client.send(GET)
        assert (await client.response())[2] == b"GET /a "


async def test_asks_for_a_body_that_waits_for_100_continue() -> None:
    async with Server(echo) as server, wire(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert (await client.response())[0] == 100
        client.send(b"ab")
        client.send(b"cd")
        assert (await client.response())[2] == b"POST / abcd"


async def test_sends_no_body_for_head_and_204() -> None:
    async def empty(request: ServerRequest) -> ServerResponse:
        return ServerResponse(204 if request.path == "/204" else 200, b"hidden")

    async with Server(empty) as server, wire(server) as client:
        client.send(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET /204 HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert b"Content-Length: 6\r\n" in head
        nothing = await client.reader.readuntil(b"\r\n\r\n")
        assert nothing.startswith(b"HTTP/1.1 204 No Content\r\n")
        assert b"Content-Length" not in nothing


async def test_answers_pipelined_requests_in_order() -> None:
    first = asyncio.Event()

    async def handler(request: ServerRequest) -> ServerResponse:
        if request.path == "/1":
            await first.wait()
        return ServerResponse(200, request.path.encode() + await request.body(largest=10))

    async with Server(handler) as server, wire(server) as client:
        client.send(
            b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
            b"POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
            b"GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        await until(lambda: [each for each in server.connections if each.task is not None])
        first.set()
        assert [(await client.response())[2] for _ in range(3)] == [b"/1", b"/2abc", b"/3"]
        assert await client.is_closed()


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a TLS handshake
        b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET / HTTP/1.1\r\nA\x00: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
    ],
)
async def test_rejects_non_http_data_and_closes(sent: bytes) -> None:
    async with Server(echo) as server:
        async with wire(server) as client:
            client.send(sent)
            status, headers, _ = await client.response()
            assert (status, headers["connection"]) == (400, "close")
        async with wire(server) as client:
            client.send(GET)
            assert (await client.response())[0] == 200


async def test_finishes_a_response_before_it_closes_for_garbage_behind_the_request() -> None:
    async with Server(echo) as server, wire(server) as client:
        client.send(GET + b"\x00garbage")
        assert (await client.response())[0] == 200
        assert await client.is_closed()


async def test_answers_an_upgrade_request_without_changing_the_protocol() -> None:
    async with Server(echo) as server, wire(server) as client:
        client.send(b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00")
        status, headers, body = await client.response()
        assert (status, headers["connection"], body) == (200, "close", b"GET /ws ")
        assert await client.is_closed()


async def test_serves_http_1_0_and_closes() -> None:
    async def stream(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, pieces(b"a", b"b"))

    async with Server(stream) as server, wire(server) as client:
        client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert b"Transfer-Encoding" not in head
        assert await client.reader.read() == b"ab"


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize(("method", "length"), [("GET", None), ("POST", None), ("GET", "5"), ("HEAD", "5")], ids=str)
async def test_an_independent_client_reads_streams(method: str, length: str | None) -> None:
    async def stream(request: ServerRequest) -> ServerResponse:
        headers = [("Content-Length", length)] if length else []
        return ServerResponse(200, pieces(b"ab", b"", b"cde"), headers)

    async with Server(stream) as server, aiohttp.ClientSession() as session:
        for _ in range(2):
            async with session.request(method, f"http://127.0.0.1:{server.port}/") as answer:
                assert await answer.read() == (b"" if method == "HEAD" else b"abcde")
        assert len(server.connections) == 1


# Failures


async def test_a_failing_handler_is_logged_and_answered_with_500(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(request: ServerRequest) -> ServerResponse:
        raise RuntimeError("the password is hunter2")

    async with Server(fail) as server, wire(server) as client:
        for _ in range(2):
            client.send(GET)
            assert (await client.response())[::2] == (500, b"internal server error\n")
    assert caplog.messages == ["the handler of GET /a failed"] * 2


async def test_a_header_with_a_line_break_is_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    async def split(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, b"", [("A", "b\r\nC: secret")])

    async with Server(split) as server, wire(server) as client:
        client.send(GET)
        assert await client.is_closed()
    assert "secret" not in caplog.text


async def test_a_handler_can_drop_the_connection() -> None:
    async def drop(request: ServerRequest) -> ServerResponse:
        raise DropConnection

    async with Server(drop) as server, wire(server) as client:
        client.send(GET)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.response()


async def test_a_stream_that_fails_breaks_off(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"a"
        raise RuntimeError("lost")

    async def stream(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, broken())

    async with Server(stream) as server, wire(server) as client:
        client.send(GET)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError, ValueError)):
            await client.response()
    assert caplog.messages == ["the response to GET /a failed"]


@pytest.mark.parametrize("framing", ["length", "chunks"])
async def test_a_body_that_is_too_large_is_refused_while_the_client_still_sends(framing: str) -> None:
    async with Server(echo) as server, wire(server) as client:
        chunk = b"x" * 2**16
        if framing == "length":
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (2**21))
        else:
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(32):
            client.send(b"10000\r\n%b\r\n" % chunk if framing == "chunks" else chunk)
        if framing == "chunks":
            client.send(b"0\r\n\r\n")
        status, headers, _ = await client.response()
        assert (status, headers["connection"]) == (413, "close")
        assert await client.is_closed()


async def test_a_refused_client_gets_the_end_of_the_stream_immediately_and_has_time_to_close() -> None:
    clock = VirtualClock()
    async with Server(echo, clock=clock) as server, wire(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (2**21))
        assert (await client.response())[0] == 413
        assert await client.is_closed()
        await clock.advance(4)
        assert [each.state for each in server.connections] == ["lingering"]
        await clock.advance(2)
        await until(lambda: not server.connections)


async def test_body_too_large_reaches_the_handler_before_anything_was_read() -> None:
    caught: list[BodyTooLarge] = []

    async def handler(request: ServerRequest) -> ServerResponse:
        try:
            await request.body(largest=3)
        except BodyTooLarge as error:
            caught.append(error)
        return ServerResponse(200, b"short", close=True)

    async with Server(handler) as server, wire(server) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
        assert (await client.response())[2] == b"short"
    assert [str(each) for each in caught] == ["the body has more than 3 bytes"]


# Disconnects and the end


@pytest.mark.parametrize("cancel", [True, False])
async def test_cancels_the_handler_of_a_client_that_goes_away_if_asked_to(cancel: bool) -> None:
    started, cancelled, release = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(request: ServerRequest) -> ServerResponse:
        started.set()
        try:
            await release.wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ServerResponse()

    async with Server(handler, cancel_on_disconnect=cancel) as server:
        async with wire(server) as client:
            client.send(GET)
            await started.wait()
        await until(lambda: not server.connections)
        if cancel:
            await cancelled.wait()
        release.set()
        await asyncio.sleep(0)
        assert cancelled.is_set() is cancel


async def test_closes_the_stream_of_a_client_that_goes_away() -> None:
    closed, sent = asyncio.Event(), asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 1000
                sent.set()
                await asyncio.sleep(0)
        finally:
            closed.set()

    async def stream(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, endless())

    async with Server(stream, cancel_on_disconnect=True) as server:
        async with wire(server) as client:
            client.send(GET)
            await sent.wait()
        async with asyncio.timeout(PATIENCE):
            await closed.wait()


async def test_a_stop_lets_running_handlers_finish_and_closes_idle_connections() -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def handler(request: ServerRequest) -> ServerResponse:
        if request.path == "/slow":
            started.set()
            await release.wait()
        return ServerResponse(200, b"done")

    server = await Server(handler, drain_seconds=PATIENCE).__aenter__()
    async with wire(server) as idle, wire(server) as busy:
        idle.send(GET)
        assert (await idle.response())[2] == b"done"
        busy.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await started.wait()
        stopping = asyncio.create_task(server.__aexit__(None, None, None))
        assert await idle.is_closed()
        release.set()
        status, headers, body = await busy.response()
        assert (status, headers["connection"], body) == (200, "close", b"done")
        await stopping
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.addresses[0][1] if server.addresses else 1)


async def test_a_stop_cancels_handlers_that_do_not_finish() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def hang(request: ServerRequest) -> ServerResponse:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    async with Server(hang, drain_seconds=0) as server, wire(server) as client:
        client.send(GET)
        await started.wait()
        await server.__aexit__(None, None, None)
        assert cancelled.is_set()
        assert await client.is_closed()


async def test_a_stop_does_not_wait_for_a_handler_that_refuses_to_end() -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def stubborn(request: ServerRequest) -> ServerResponse:
        started.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()
        return ServerResponse()

    async with Server(stubborn, drain_seconds=0) as server, wire(server) as client:
        client.send(GET)
        await started.wait()
        (task,) = [each.task for each in server.connections]
        await server.__aexit__(None, None, None)
        assert not server.connections
        assert task is not None
        assert not task.done()
        release.set()
        await task


async def test_names_an_address_that_is_taken_and_leaves_nothing_open() -> None:
    async with Server(echo) as taken:
        server = Server(echo, port=taken.port)
        with pytest.raises(OSError, match="in use"):
            await server.__aenter__()
        assert server.addresses == []


# TLS


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's and a client's; the client presents a certificate of the same authority."""
    authority = CertificateAuthority("tests")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(*authority.issue("server", hosts=["127.0.0.1"]).write(folder, "server"))
    serving.load_verify_locations(cadata=authority.pair.certificate.decode())
    serving.verify_mode = ssl.CERT_OPTIONAL
    asking = ssl.create_default_context(cadata=authority.pair.certificate.decode())
    asking.load_cert_chain(*authority.issue("alice", groups=("admins",)).write(folder, "client"))
    return serving, asking


async def test_serves_tls_and_shows_the_clients_certificate(tmp_path: Path) -> None:
    serving, asking = contexts(tmp_path)

    async def name(request: ServerRequest) -> ServerResponse:
        names = [pair for part in request.certificate["subject"] for pair in part]
        return ServerResponse(200, str(dict(names)["commonName"]).encode())

    async with Server(name, tls=serving) as server, wire(server, ssl=asking) as client:
        client.send(GET)
        assert (await client.response())[2] == b"alice"


async def test_a_failed_handshake_is_forgotten(tmp_path: Path) -> None:
    serving, _ = contexts(tmp_path)
    async with Server(echo, tls=serving) as server:
        async with wire(server) as plain:
            plain.send(GET)
            assert await plain.is_closed()
        await until(lambda: not server.connections)


async def test_a_stop_does_not_wait_for_handshakes(tmp_path: Path) -> None:
    serving, _ = contexts(tmp_path)
    async with Server(echo, tls=serving) as server:
        silent = socket.create_connection(("127.0.0.1", server.port))
        await until(lambda: server.waiting)
    silent.close()
    assert not server.connections
