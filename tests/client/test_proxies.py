"""Servers behind a proxy, with TLS or without, on both event loops."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from kubewright.certificates import CertificateAuthority
from kubewright.client import TLS, Client, ClientConfig, Credentials, RetryPolicy, Unavailable
from tests.client.http_server import Handler

BODY = b'{"major":"1","minor":"36","gitVersion":"v1.36.3"}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
ONCE = RetryPolicy(attempts=1)


class Land:
    """A server with TLS, and a proxy that leads to it: a plain one, or one with TLS itself."""

    def __init__(self, folder: Path) -> None:
        self.authority = CertificateAuthority("authority")
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(*self.authority.issue("here", hosts=("127.0.0.1",)).write(folder, "server"))
        self.asked: list[str] = []
        self.refusal = b""

    @asynccontextmanager
    async def listening(self, handle: Handler, *, tls: bool) -> AsyncIterator[int]:
        tasks = set[asyncio.Task[Any]]()

        async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                await handle(reader, writer)
            except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
                pass
            finally:
                writer.transport.abort()

        server = await asyncio.start_server(closing, "127.0.0.1", 0, ssl=self.context if tls else None)
        async with server:
            yield server.sockets[0].getsockname()[1]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks)
            await asyncio.sleep(0)  # for what was aborted

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWER)

    async def lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        if self.refusal:
            writer.write(self.refusal)
            await writer.drain()
            return
        port = int(self.asked[-1].split()[1].rpartition(":")[2])
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        ways = [asyncio.ensure_future(_pipe(reader, inner_writer)), asyncio.ensure_future(_pipe(inner_reader, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            inner_writer.transport.abort()

    async def version_through_proxy(self, *, proxy_with_tls: bool) -> str:
        async with (
            self.listening(self.serve, tls=True) as port,
            self.listening(self.lead, tls=proxy_with_tls) as proxy,
            Client(
                ClientConfig(
                    server=f"https://127.0.0.1:{port}",
                    proxy=f"{'https' if proxy_with_tls else 'http'}://us%40er:pass@127.0.0.1:{proxy}",
                    tls=TLS(ca_data=self.authority.pair.certificate),
                    credentials=Credentials(token="for the server alone"),
                ),
                retry=ONCE,
            ) as client,
        ):
            await client.server_version()
            version = (await client.server_version()).git_version
            assert len(self.asked) == 1  # the second request takes the same way
            return version


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)


@pytest.fixture
def land(tmp_path: Path) -> Land:
    return Land(tmp_path)


def run(work: Coroutine[Any, Any, str], factory: Callable[[], asyncio.AbstractEventLoop]) -> str:
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("tls", [False, True])
def test_a_server_with_tls_is_reached_through_a_tunnel(
    land: Land, tls: bool, factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    assert run(land.version_through_proxy(proxy_with_tls=tls), factory) == "v1.36.3"
    head = land.asked[0]
    assert head.startswith("CONNECT 127.0.0.1:")
    assert f"Proxy-Authorization: Basic {base64.b64encode(b'us@er:pass').decode()}\r\n" in head
    assert "for the server alone" not in head


@pytest.mark.parametrize(
    ("refusal", "shown"),
    [
        (b"HTTP/1.1 407 Who are you?\r\n\r\n", "the proxy refused the tunnel: HTTP/1.1 407 Who are you?"),
        (b"SSH-2.0\x00\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200", "the proxy has closed the connection"),
    ],
)
@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_proxy_that_refuses_the_tunnel(
    land: Land, refusal: bytes, shown: str, factory: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    land.refusal = refusal
    with pytest.raises(Unavailable) as caught:
        run(land.version_through_proxy(proxy_with_tls=False), factory)
    assert "cannot connect to https://127.0.0.1:" in str(caught.value)
    assert shown in str(caught.value)
    assert "pass" not in str(caught.value)
