"""Servers on loopback, and clients that speak to them byte by byte."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import uvloop

from kubewright.http import Server, ServerRequest, ServerResponse
from tests.patience import PATIENCE, until


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test of this folder runs on both event loops."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


async def echo(request: ServerRequest) -> ServerResponse:
    """Answers with the method, the path, and the body."""
    body = await request.body(largest=2**20)
    return ServerResponse(200, f"{request.method} {request.path} ".encode() + body)


class Wire:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        if not self.writer.is_closing():  # by the server
            self.writer.write(data)

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """Reads one response with a Content-Length or in chunks."""
        async with asyncio.timeout(PATIENCE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            status = int(head[0].split()[1])
            if status < 200:
                return status, headers, b""
            if headers.get("transfer-encoding") == "chunked":
                return status, headers, await self._chunks()
            return status, headers, await self.reader.readexactly(int(headers.get("content-length", 0)))

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()
        return body

    async def is_closed(self) -> bool:
        """Waits for the end of the connection."""
        async with asyncio.timeout(PATIENCE):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass
            return True


@asynccontextmanager
async def wire(server: Server, **options: Any) -> AsyncIterator[Wire]:
    """Connects to a server; the connection is reset at the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, **options)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()


def client_hello(context: ssl.SSLContext) -> bytes:
    """The first message of a TLS client."""
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost").do_handshake()
    return sent.read()


async def connections(server: Server, count: int) -> list[Any]:
    """Waits for so many connections, and returns them."""
    await until(lambda: len(server.connections) == count)
    return list(server.connections)
