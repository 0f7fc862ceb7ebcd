"""Which connections a server closes when there are too many."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

from kubewright.http import Server, ServerLimits, ServerRequest, ServerResponse
from tests.http.conftest import Wire, client_hello, connections, echo, wire
from tests.http.test_server import GET, contexts
from tests.patience import PATIENCE, until

LIMITS = ServerLimits(header_bytes=4096, connections=3, silent_seconds=0, grace_seconds=0)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", GET], ids=["silent", "half", "idle"])
async def test_a_new_connection_replaces_the_one_that_waited_longest(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with Server(echo, limits=LIMITS) as server, AsyncExitStack() as stack:
        clients = []
        for number in range(3):
            clients.append(await stack.enter_async_context(wire(server)))
            clients[-1].send(sent)
            if sent == GET:
                await clients[-1].response()
            await connections(server, number + 1)
        for oldest in (0, 1):
            newest = await stack.enter_async_context(wire(server))
            newest.send(GET)
            assert (await newest.response())[0] == 200
            assert await clients[oldest].is_closed()
            assert len(server.connections) == 3
        assert server.closed_for_room == 2
    (warning,) = caplog.messages
    assert "3 connections open; closing the one that has been idle longest" in warning


async def test_a_flood_of_new_connections_does_not_close_one_that_was_served() -> None:
    async with Server(echo, limits=ServerLimits(waiting=3, silent_seconds=0)) as server, AsyncExitStack() as stack:
        kept = await stack.enter_async_context(wire(server))
        kept.send(GET)
        assert (await kept.response())[0] == 200
        silent = [await stack.enter_async_context(wire(server)) for _ in range(10)]
        for closed in silent[:8]:
            assert await closed.is_closed()
        kept.send(GET)
        assert (await kept.response())[0] == 200


async def test_new_connections_are_not_closed_for_newer_ones(caplog: pytest.LogCaptureFixture) -> None:
    """A client that is slower than a flood, as during a TLS handshake, keeps its connection."""
    limits = ServerLimits(waiting=2, silent_seconds=PATIENCE)
    async with Server(echo, limits=limits) as server, AsyncExitStack() as stack:
        slow = await stack.enter_async_context(wire(server))
        async with wire(server):
            await connections(server, 2)
            third = await stack.enter_async_context(wire(server))
            third.send(GET)
            slow.send(GET)
            assert (await slow.response())[0] == 200
            assert server.closed_for_room == 0
        assert (await third.response())[0] == 200
    (warning,) = caplog.messages
    assert "2 connections open; all that wait are new, so further ones stay in the listen queue" in warning


async def test_connections_are_closed_for_newer_ones_after_the_grace_time() -> None:
    limits = ServerLimits(waiting=2, silent_seconds=0.05)
    async with Server(echo, limits=limits) as server, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(wire(server)) for _ in range(10)]
        third = await stack.enter_async_context(wire(server))
        third.send(GET)
        assert (await third.response())[0] == 200
        assert await silent[0].is_closed()


async def test_connections_that_wait_have_their_own_limit() -> None:
    release = asyncio.Event()

    async def wait(request: ServerRequest) -> ServerResponse:
        await release.wait()
        return ServerResponse(200, b"ok")

    limits = ServerLimits(connections=100, waiting=2, silent_seconds=0)
    async with Server(wait, limits=limits) as server, AsyncExitStack() as stack:
        busy: list[Wire] = []
        for _ in range(5):
            busy.append(await stack.enter_async_context(wire(server)))
            busy[-1].send(GET)
            await until(lambda: sum(each.state == "handling" for each in server.connections) == len(busy))
        silent = [await stack.enter_async_context(wire(server)) for _ in range(4)]
        assert await silent[0].is_closed()
        assert await silent[1].is_closed()
        await connections(server, 7)
        release.set()
        assert [(await client.response())[2] for client in busy[-2:]] == [b"ok"] * 2


async def test_requests_that_were_not_read_yet_are_not_closed_for_newer_connections() -> None:
    """A server without a CPU accepts many connections in one turn, and reads their requests in the next one."""
    async with Server(echo, limits=ServerLimits(waiting=2, silent_seconds=0)) as server, AsyncExitStack() as stack:
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(10)]  # before the loop turns
        for client in clients:
            client.sendall(GET)
        for client in clients:
            opened = Wire(*await asyncio.open_connection(sock=client))
            stack.callback(opened.writer.close)
            assert (await opened.response())[0] == 200


async def test_bodies_of_all_connections_together_are_bounded() -> None:
    limits = ServerLimits(body_bytes=100_000)
    async with Server(echo, limits=limits) as server, AsyncExitStack() as stack:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"
        slow = await stack.enter_async_context(wire(server))
        slow.send(head + b"x" * 59_999)
        await until(lambda: [each.state for each in server.connections] == ["body"])
        await until(lambda: server._body_bytes == 59_999)
        for _ in range(3):
            quick = await stack.enter_async_context(wire(server))
            quick.send(head + b"x" * 60_000)
            assert (await quick.response())[0] == 200
        assert await slow.is_closed()
        await until(lambda: server._body_bytes == 0)


async def test_a_body_larger_than_all_may_have_is_reset() -> None:
    ended = asyncio.Event()

    async def whole(request: ServerRequest) -> ServerResponse:
        try:
            return ServerResponse(200, await request.body(largest=2**30))
        finally:
            ended.set()

    async with Server(whole, limits=ServerLimits(body_bytes=100_000)) as server:
        async with wire(server) as client:
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 500_000)
            assert await client.is_closed()
        await until(lambda: not server.connections)
        async with asyncio.timeout(PATIENCE):
            await ended.wait()
        assert server._body_bytes == 0


async def test_connections_in_handshake_count(tmp_path: Path) -> None:
    serving, asking = contexts(tmp_path)
    async with Server(echo, tls=serving, limits=LIMITS) as server:
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        await until(lambda: server.closed_for_room == 17)
        async with wire(server, ssl=asking) as client:
            client.send(GET)
            assert (await client.response())[0] == 200
        for each in silent:
            each.close()


async def test_silent_connections_are_closed_before_a_handshake(tmp_path: Path) -> None:
    """A client in the middle of its handshake keeps its connection for the grace time; silent ones make room."""
    serving, asking = contexts(tmp_path)
    limits = ServerLimits(waiting=3, silent_seconds=0, grace_seconds=PATIENCE)
    async with Server(echo, tls=serving, limits=limits) as server:
        with ExitStack() as stack:
            begun = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            begun.sendall(client_hello(asking))
            await connections(server, 1)
            silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
            for each in silent:
                stack.enter_context(each)
            await until(lambda: server.closed_for_room == 18)
            begun.settimeout(PATIENCE)
            assert (await asyncio.to_thread(begun.recv, 5))[:1] == b"\x16", "the server has answered the hello"


async def test_a_hello_in_pieces_is_served(tmp_path: Path) -> None:
    serving, asking = contexts(tmp_path)
    hello = client_hello(asking)
    async with Server(echo, tls=serving) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.settimeout(PATIENCE)
            for byte in range(0, len(hello), 3):
                client.sendall(hello[byte : byte + 3])
                await asyncio.sleep(0)
            answer = await asyncio.to_thread(client.recv, 5)
    assert answer[:1] == b"\x16"


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\xff\xff", b"\x16\x03\x01"])
async def test_what_is_not_tls_is_closed(tmp_path: Path, sent: bytes) -> None:
    serving, _ = contexts(tmp_path)
    async with Server(echo, tls=serving) as server, wire(server) as client:
        client.send(sent)
        client.writer.write_eof()
        assert await client.is_closed()


async def test_answered_connections_are_closed_first() -> None:
    """A client that sends a body without end has its response; it makes room before a client that has none."""
    limits = ServerLimits(waiting=2, silent_seconds=0.01, grace_seconds=PATIENCE)

    async def refuse(request: ServerRequest) -> ServerResponse:
        return ServerResponse(405, b"no") if request.method == "POST" else ServerResponse(200, b"yes")

    async with Server(refuse, limits=limits) as server, AsyncExitStack() as stack:
        endless = [await stack.enter_async_context(wire(server)) for _ in range(2)]
        for each in endless:
            each.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
            assert (await each.response())[0] == 405
        probe = await stack.enter_async_context(wire(server))
        probe.send(GET)
        assert (await probe.response())[0] == 200
        assert await endless[0].is_closed()


async def test_running_handlers_are_never_closed_for_a_new_connection() -> None:
    release = asyncio.Event()

    async def wait(request: ServerRequest) -> ServerResponse:
        await release.wait()
        return ServerResponse(200, b"ok")

    async with Server(wait, limits=LIMITS) as server, AsyncExitStack() as stack:
        busy = [await stack.enter_async_context(wire(server)) for _ in range(3)]
        for client in busy:
            client.send(GET)
        await until(lambda: [each.state for each in server.connections] == ["handling"] * 3)
        async with wire(server) as refused:
            refused.send(GET)
            assert await refused.is_closed()
        release.set()
        assert [(await client.response())[2] for client in busy] == [b"ok"] * 3


async def test_an_exhausted_process_accepts_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Server(echo) as server:
        listener = server._listeners[0]
        failures = [OSError(24, "Too many open files")] * 2

        class Exhausted:
            def accept(self) -> object:
                if failures:
                    raise failures.pop()
                return listener.accept()

            def __getattr__(self, name: str) -> object:
                return getattr(listener, name)

        server._listeners[0] = Exhausted()  # type: ignore[call-overload]
        server._accept_more()
        async with wire(server) as client:
            client.send(GET)
            assert (await client.response())[0] == 200
        assert not failures
