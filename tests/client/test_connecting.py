"""How the client opens connections, and what happens when it is closed before one is open."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import core
from kubewright.certificates import CertificateAuthority
from kubewright.client import (
    TLS,
    Client,
    ClientConfig,
    ConnectionLost,
    Credentials,
    ExecPlugin,
    HttpTransport,
    Unavailable,
)
from kubewright.client._pool import Closed  # private: the pool's own error, which the transport translates
from kubewright.client.credentials import Identity
from kubewright.clock import SystemClock
from tests.client.http_server import OK, Server, get, serving, transport_to


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


async def test_cancellation_at_the_end_of_a_handshake_closes_the_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server never reads again, so a TLS shutdown would leave the socket open."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority = CertificateAuthority("authority")
    context.load_cert_chain(*authority.issue("here", hosts=("127.0.0.1",)).write(tmp_path, "server"))
    loop = asyncio.get_running_loop()
    sockets, create_connection = [], loop.create_connection

    async def canceled(make: Callable[[], asyncio.Protocol], **options: Any) -> object:
        protocol = make()
        connection_made = protocol.connection_made

        def cancel(transport: asyncio.BaseTransport) -> None:
            connection_made(transport)
            sockets.append(transport.get_extra_info("socket"))
            asking.cancel()

        monkeypatch.setattr(protocol, "connection_made", cancel)
        return await create_connection(lambda: protocol, **options)

    def accept() -> ssl.SSLSocket:
        return context.wrap_socket(listener.accept()[0], server_side=True)

    monkeypatch.setattr(loop, "create_connection", canceled)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"https://127.0.0.1:{listener.getsockname()[1]}"
        async with transport_to(address, tls=TLS(ca_data=authority.pair.certificate)) as transport:
            accepting = asyncio.create_task(asyncio.to_thread(accept))
            asking = asyncio.create_task(transport.send(get()))
            with pytest.raises(asyncio.CancelledError):
                await asking
            with await accepting:
                await asyncio.sleep(0)  # for what was aborted
                assert [each.fileno() for each in sockets] == [-1]


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
