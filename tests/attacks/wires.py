"""Connections as attackers use them: silent, half sent, endless, or never read."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from tests.patience import PATIENCE

__all__ = ["CONNECTIONS", "Wire", "answer_to", "opened", "trusting", "wires"]

CONNECTIONS: Final = 600
"""How many connections one attack holds open: as many as the review used."""
_AT_ONCE: Final = 20


class Wire:
    """One connection that an attacker holds."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> bool:
        """Sends data. False when the server has closed the connection."""
        try:
            self.writer.write(data)
            await self.writer.drain()
        except (OSError, ssl.SSLError):
            return False
        return True

    async def flood(self, data: bytes, times: int) -> None:
        """Sends data many times, until the server closes the connection or stops reading, as it should."""
        with suppress(TimeoutError):
            for _ in range(times):
                async with asyncio.timeout(0.2):  # real: a server that does not read has no event
                    if not await self.send(data):
                        return

    async def rest(self) -> bytes:
        """Everything until the server closes the connection."""
        found = b""
        with suppress(OSError, ssl.SSLError):
            while piece := await self.reader.read(65_536):
                found = (found + piece)[-65_536:]
        return found

    def close(self) -> None:
        """Closes the connection without a goodbye."""
        self.writer.transport.abort()


def trusting() -> ssl.SSLContext:
    """An attacker does not verify certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # does not read the authorities of the system
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def opened(port: int, tls: ssl.SSLContext | None = None) -> Wire | None:
    """A connection, or None when the server refused it."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    except (OSError, ssl.SSLError):
        return None
    return Wire(reader, writer)


@asynccontextmanager
async def wires(
    port: int, first: bytes = b"", *, tls: ssl.SSLContext | None = None, count: int = CONNECTIONS
) -> AsyncIterator[list[Wire]]:
    """Many connections, each of which has sent something and then stays silent."""
    few, made = asyncio.Semaphore(_AT_ONCE), list[Wire]()

    async def one() -> None:
        async with few:
            wire = await opened(port, tls)
            if wire is not None:
                made.append(wire)
                await wire.send(first)

    try:
        await asyncio.gather(*(one() for _ in range(count)))
        yield made
    finally:
        for wire in made:
            wire.close()


async def answer_to(port: int, data: bytes, *, tls: ssl.SSLContext | None = None) -> bytes:
    """The end of what a server answers to some bytes until it closes the connection."""
    wire = await opened(port, tls)
    if wire is None:
        return b""
    try:
        await wire.send(data)
        async with asyncio.timeout(PATIENCE):
            return await wire.rest()
    finally:
        wire.close()
