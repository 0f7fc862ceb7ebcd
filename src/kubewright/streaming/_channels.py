"""The channels of exec and attach (`v5.channel.k8s.io`), and bytes through a WebSocket.

The first byte of each message is its channel. In version 5, a message on channel 255 closes the channel that it names,
so that a client can end stdin.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from kubewright.streaming._websocket import WebSocket, WebSocketError

__all__ = ["CHANNEL_PROTOCOLS", "PORT_FORWARD_PROTOCOL", "Channel", "ChannelSocket", "WebSocketBytes", "terminal_size"]

CHANNEL_PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
PORT_FORWARD_PROTOCOL: Final = "SPDY/3.1+portforward.k8s.io"
_PIECE_BYTES: Final = 32 * 1024


class Channel(enum.IntEnum):
    """The channels of a session."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    """At the end, a `Status` with the exit code."""
    RESIZE = 4
    CLOSE = 255


class _Size(msgspec.Struct):
    width: int = msgspec.field(name="Width")
    height: int = msgspec.field(name="Height")


class ChannelSocket:
    """Messages with a channel, on a WebSocket with one of `CHANNEL_PROTOCOLS`."""

    def __init__(self, socket: WebSocket, protocol: str) -> None:
        self._socket = socket
        self.can_close = protocol == CHANNEL_PROTOCOLS[0]
        """Whether a channel can be closed while others stay open."""

    async def receive(self) -> tuple[Channel, bytes] | None:
        """Returns the next message and its channel; None at the end.

        `(Channel.CLOSE, b"\\x00")` closes stdin. Raises `WebSocketError`.
        """
        message = await self._socket.receive()
        if message is None:
            return None
        try:
            return Channel(message[0]), message[1:]
        except (ValueError, IndexError):
            raise WebSocketError(f"the message has no known channel: {message[:1]!r}") from None

    async def send(self, channel: Channel, data: bytes) -> None:
        """Sends bytes on a channel. Raises ConnectionError."""
        for begin in range(0, len(data), _PIECE_BYTES) if data else (0,):
            await self._socket.send(bytes((channel,)) + data[begin : begin + _PIECE_BYTES])

    async def close_channel(self, channel: Channel) -> None:
        """Closes one channel. Does nothing in version 4, which cannot."""
        if self.can_close:
            await self._socket.send(bytes((Channel.CLOSE, channel)))

    async def resize(self, columns: int, rows: int) -> None:
        """Sends the size of the terminal."""
        await self.send(Channel.RESIZE, msgspec.json.encode(_Size(columns, rows)))

    async def close(self) -> None:
        """Closes the WebSocket."""
        await self._socket.close()

    def abort(self) -> None:
        """Closes the connection without a handshake."""
        self._socket.abort()


def terminal_size(data: bytes) -> tuple[int, int] | None:
    """Returns columns and rows of a message on `Channel.RESIZE`; None if it is malformed or out of range."""
    try:
        size = msgspec.json.decode(data, type=_Size)
    except (msgspec.DecodeError, RecursionError):
        return None
    return (size.width, size.height) if 0 < size.width < 2**16 and 0 < size.height < 2**16 else None


class WebSocketBytes:
    """A `ByteStream` on a WebSocket whose messages have no boundaries that matter."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        """See `ByteStream`."""
        while True:
            message = await self._socket.receive()
            if message is None:
                return b""
            if message:
                return message

    async def write(self, data: bytes) -> None:
        """See `ByteStream`."""
        for begin in range(0, len(data), _PIECE_BYTES):
            await self._socket.send(data[begin : begin + _PIECE_BYTES])

    def close(self) -> None:
        """See `ByteStream`."""
        self._socket.abort()
