"""`ByteStream`: a connection after an upgrade, when it no longer carries HTTP. Both sides of HTTP use it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final, Protocol, Self, cast

__all__ = ["ByteStream", "ConnectionStream", "join_streams", "memory_streams"]

_UNREAD_BYTES: Final = 256 * 1024  # reading pauses beyond this until the owner reads
_PIECE_BYTES: Final = 256 * 1024


class ByteStream(Protocol):
    """Bytes in both directions. One task may read while another one writes."""

    async def read(self) -> bytes:
        """Returns the bytes that have arrived, waiting for the first; no bytes when the other side has closed.

        Raises ConnectionError if the connection broke.
        """

    async def write(self, data: bytes) -> None:
        """Sends bytes, no faster than the other side reads. Raises ConnectionError if the connection is closed."""

    def close(self) -> None:
        """Closes both directions. Data that was written is still sent."""


class _Inbox:
    """Bytes that arrived and were not read, with a task that waits for them."""

    def __init__(self, first: bytes = b"") -> None:
        self.unread = len(first)
        self._pieces = [first] if first else []
        self._wake: asyncio.Future[None] | None = None
        self._ended = False
        self._error: Exception | None = None

    def put(self, data: bytes) -> None:
        self._pieces.append(data)
        self.unread += len(data)
        self._notify()

    def end(self, error: Exception | None = None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._notify()

    async def take(self) -> bytes:
        while not self._pieces:
            if self._error is not None:
                raise ConnectionResetError(f"the connection broke: {self._error}") from self._error
            if self._ended:
                return b""
            self._wake = asyncio.get_running_loop().create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self.unread = 0
        return data

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class ConnectionStream(asyncio.Protocol):
    """A `ByteStream` on a transport, whose protocol it is.

    Args:
        first: bytes that arrived before it became the protocol.
        lost: called once, when the connection is closed by either side.
    """

    _transport: asyncio.Transport

    def __init__(self, first: bytes = b"", lost: Callable[[Exception | None], None] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._inbox = _Inbox(first)
        self._lost = lost
        self._reading_paused = False
        self._writable: asyncio.Event = asyncio.Event()
        self._writable.set()
        self._closed = False
        self.active_at = self._loop.time()
        """When bytes were last received or sent, by the time of the event loop."""

    @classmethod
    async def connect(cls, host: str, port: int) -> Self:
        """Connects to a TCP port. Raises OSError."""
        _, stream = await asyncio.get_running_loop().create_connection(cls, host, port)
        return stream

    @classmethod
    def take_over(
        cls, transport: asyncio.Transport, first: bytes, lost: Callable[[Exception | None], None] | None = None
    ) -> Self:
        """Returns the stream of a connection that carried HTTP until now, and whose reading is paused."""
        stream = cls(first, lost)
        stream.connection_made(transport)
        transport.set_protocol(stream)
        transport.resume_reading()
        return stream

    async def read(self) -> bytes:
        """See `ByteStream`."""
        data = await self._inbox.take()
        if self._reading_paused and not self._transport.is_closing():
            self._reading_paused = False
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """See `ByteStream`."""
        view = memoryview(data)
        for begin in range(0, len(data), _PIECE_BYTES):
            await self._writable.wait()
            if self._closed or self._transport.is_closing():
                raise ConnectionResetError("the connection is closed")
            self._transport.write(view[begin : begin + _PIECE_BYTES])
            self.active_at = self._loop.time()
        await self._writable.wait()

    def close(self) -> None:
        """See `ByteStream`."""
        self._inbox.end()
        self._transport.close()

    def write_eof(self) -> None:
        """Ends the direction of writing, if the transport can: TLS cannot."""
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()

    def abort(self) -> None:
        """Resets the connection. A TLS close would wait for the other side."""
        self._transport.abort()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Keeps what arrived, and pauses reading if it is too much."""
        self.active_at = self._loop.time()
        self._inbox.put(data)
        if self._inbox.unread > _UNREAD_BYTES and not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Makes `write` wait until the other side has read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Lets `write` continue."""
        self._writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        """Ends `read` and fails `write`."""
        self._closed = True
        self._inbox.end(error)
        self._writable.set()
        if self._lost is not None:
            lost, self._lost = self._lost, None
            lost(error)


async def join_streams(one: ByteStream, other: ByteStream) -> None:
    """Carries bytes in both directions until either side closes or breaks, and closes both."""
    copying = [asyncio.ensure_future(_copy(one, other)), asyncio.ensure_future(_copy(other, one))]
    try:
        await asyncio.wait(copying, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in copying:
            task.cancel()
        await asyncio.gather(*copying, return_exceptions=True)
        one.close()
        other.close()


async def _copy(source: ByteStream, target: ByteStream) -> None:
    with contextlib.suppress(ConnectionError):  # the other direction ends, too
        while data := await source.read():
            await target.write(data)


def memory_streams() -> tuple[ByteStream, ByteStream]:
    """Returns the two ends of a connection inside this process."""
    first, second = _MemoryStream(), _MemoryStream()
    first.other, second.other = second, first
    return first, second


class _MemoryStream:
    other: _MemoryStream

    def __init__(self) -> None:
        self._inbox = _Inbox()
        self._room = asyncio.Event()
        self._room.set()
        self._closed = False

    async def read(self) -> bytes:
        data = await self._inbox.take()
        self._room.set()
        return data

    async def write(self, data: bytes) -> None:
        other = self.other
        while True:
            if self._closed or other._closed:
                raise ConnectionResetError("the connection is closed")
            if other._inbox.unread <= _UNREAD_BYTES:
                break
            other._room.clear()
            await other._room.wait()
        if data:
            other._inbox.put(bytes(data))

    def close(self) -> None:
        self._closed = True
        for end in (self, self.other):
            end._inbox.end()
            end._room.set()
