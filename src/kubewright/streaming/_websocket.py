"""WebSockets on a `ByteStream`: the handshake of both sides, and messages.

The framing is that of the `websockets` package, which is imported with this module.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from websockets.exceptions import ProtocolError as FramingError
from websockets.frames import Frame, Opcode
from websockets.protocol import CLIENT, SERVER, Protocol, State
from websockets.utils import accept_key

from kubewright.http import ByteStream, is_same_origin

__all__ = ["HandshakeError", "WebSocket", "WebSocketError", "accept_upgrade", "check_upgrade", "upgrade_headers"]

_CLOSE_SECONDS: Final = 5.0


class HandshakeError(Exception):
    """The other side does not support WebSockets, or none of the subprotocols, or is a page of another site.

    `status` is the HTTP status of a server that refuses the request.
    """

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class WebSocketError(ConnectionError):
    """The other side broke the protocol, sent a message that is too large, or closed the WebSocket with an error."""


def upgrade_headers(subprotocols: Sequence[str]) -> dict[str, str]:
    """Returns the headers of a request for a WebSocket; `check_upgrade` needs them again."""
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
        "Sec-WebSocket-Protocol": ", ".join(subprotocols),
    }


def check_upgrade(asked: Mapping[str, str], headers: Mapping[str, str]) -> str:
    """Checks the headers of a response with status 101, and returns the chosen subprotocol. Raises `HandshakeError`."""
    if headers.get("Upgrade", "").lower() != "websocket":
        raise HandshakeError("the server upgraded to another protocol than WebSocket")
    if headers.get("Sec-WebSocket-Accept", "") != accept_key(asked["Sec-WebSocket-Key"]):
        raise HandshakeError("the server did not accept the WebSocket key of this request")
    chosen = headers.get("Sec-WebSocket-Protocol", "")
    offered = asked["Sec-WebSocket-Protocol"].split(", ")
    if chosen not in offered:
        raise HandshakeError(f"the server chose the subprotocol {chosen[:100]!r}, not one of {', '.join(offered)}")
    return chosen


def accept_upgrade(headers: Mapping[str, str], supported: Sequence[str]) -> dict[str, str]:
    """Returns the headers of the response that accepts a WebSocket, with the first supported subprotocol.

    Raises `HandshakeError` with the reason and the status of a refusal.
    """
    upgrade = headers.get("Upgrade", "")
    if upgrade.lower() != "websocket":
        raise HandshakeError(
            f"unable to upgrade to {upgrade[:40] or 'nothing'!r}: only WebSocket is supported; plain SPDY upgrades are "
            "not (use kubectl 1.31 or later)"
        )
    if not is_same_origin(headers.get("Origin", ""), headers.get("Host", "")):
        raise HandshakeError("the Origin of this WebSocket request is another host", status=403)
    if headers.get("Sec-WebSocket-Version") != "13":
        raise HandshakeError("the WebSocket version is not 13")
    key = headers.get("Sec-WebSocket-Key", "")
    try:
        is_key = len(base64.b64decode(key, validate=True)) == 16
    except ValueError:
        is_key = False
    if not is_key:
        raise HandshakeError("the header Sec-WebSocket-Key is not 16 bytes in base64")
    offered = [each.strip() for each in headers.get("Sec-WebSocket-Protocol", "").split(",")]
    chosen = next((each for each in supported if each in offered), None)
    if chosen is None:
        raise HandshakeError(f"none of the requested subprotocols is supported; supported: {', '.join(supported)}")
    return {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Accept": accept_key(key),
        "Sec-WebSocket-Protocol": chosen,
    }


class WebSocket:
    """Binary messages in both directions. One task may receive while others send.

    Args:
        stream: the connection after the handshake.
        is_client: the side of this process; a client masks its frames.
        max_message_bytes: a larger message closes the WebSocket, with all its fragments counted.
    """

    def __init__(self, stream: ByteStream, *, is_client: bool, max_message_bytes: int = 2**20) -> None:
        self._stream = stream
        self._limit = max_message_bytes
        self._protocol = Protocol(CLIENT if is_client else SERVER, max_size=max_message_bytes)
        self._writing = asyncio.Lock()
        self._received: list[Frame] = []
        self._message = bytearray()  # the fragments so far
        self._ended = False

    async def receive(self) -> bytes | None:
        """Returns the next message; None after the other side has closed. Raises `WebSocketError`."""
        while True:
            while self._received:
                frame = self._received.pop(0)
                if frame.opcode in (Opcode.BINARY, Opcode.TEXT, Opcode.CONT):
                    self._message += frame.data
                    if len(self._message) > self._limit:
                        await self._fail(1009, f"a message exceeds {self._limit} bytes")
                    if frame.fin:
                        message = bytes(self._message)
                        self._message.clear()
                        return message
                elif frame.opcode is Opcode.CLOSE:
                    self._ended = True
            if self._ended:
                self._check_close()
                return None
            await self._read()

    async def send(self, message: bytes) -> None:
        """Sends a message. Raises ConnectionError if the WebSocket is closed."""
        async with self._writing:
            if self._protocol.state is not State.OPEN:
                raise ConnectionResetError("the WebSocket is closed")
            self._protocol.send_binary(message)
            await self._flush()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Closes both directions. Waits some seconds for the other side, so that it receives all that was sent."""
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                async with self._writing:
                    if self._protocol.state is State.OPEN:
                        self._protocol.send_close(code, reason)
                    await self._flush()
                while not self._ended and self._protocol.close_rcvd is None:
                    self._received.clear()
                    await self._read()
        except (ConnectionError, TimeoutError):
            pass
        finally:
            self._stream.close()

    def abort(self) -> None:
        """Closes the connection without a handshake."""
        self._stream.close()

    async def _read(self) -> None:
        data = await self._stream.read()
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
            self._ended = True
        self._received += self._protocol.events_received()  # type: ignore[arg-type]  # after the handshake: frames
        error = self._protocol.parser_exc
        async with self._writing:
            await self._flush()  # pongs, and the reply to a close
        if error is not None and not isinstance(error, EOFError):
            self._stream.close()
            reason = str(error) if isinstance(error, FramingError) else f"{type(error).__name__}: {error}"
            raise WebSocketError(f"the other side broke the WebSocket protocol: {reason}") from error

    async def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:  # empty: end of the stream
                await self._stream.write(data)

    async def _fail(self, code: int, reason: str) -> None:
        async with self._writing:
            self._protocol.fail(code, reason)
            await self._flush()
        self._stream.close()
        raise WebSocketError(reason)

    def _check_close(self) -> None:
        """Raises `WebSocketError` unless the other side closed in order."""
        close = self._protocol.close_rcvd
        if close is None:
            if self._protocol.close_sent is None:
                raise WebSocketError("the connection broke without closing the WebSocket")
        elif close.code not in (1000, 1001, 1005):
            raise WebSocketError(f"the other side closed the WebSocket with code {close.code}: {close.reason[:200]!r}")
