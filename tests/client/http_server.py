"""Servers on loopback that answer as a test says, and a transport to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from kubewright.client import ClientConfig, Credentials, HttpTransport, Request
from kubewright.clock import SystemClock

KIB = 1024
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handle: Handler) -> AsyncIterator[str]:
    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(closing, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


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
