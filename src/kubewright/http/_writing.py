"""`ResponseWriter`: responses onto a transport, no faster than the client reads."""

from __future__ import annotations

import asyncio
import http
from collections.abc import AsyncIterator, Sequence
from email.utils import formatdate
from functools import lru_cache
from typing import Final

from kubewright.clock import Clock
from kubewright.http._headers import check_headers
from kubewright.http._messages import ServerRequest, ServerResponse
from kubewright.turns import Turns

__all__ = ["ResponseWriter"]

_PIECE_BYTES: Final = 256 * 1024
_JOINED_BYTES: Final = 16 * 1024  # up to this, one write costs less than the copy
_BODILESS: Final = frozenset({101, 204, 304})


class ResponseWriter:
    """Writes the responses of one connection. A client that goes away raises ConnectionError in `write`."""

    def __init__(self, clock: Clock, turns: Turns) -> None:
        self.transport: asyncio.Transport | None = None
        self._clock = clock
        self._turns = turns
        self._paused_since: float | None = None
        self._resumed: asyncio.Future[None] | None = None
        self._lost = False

    def stalled_for(self, now: float) -> float:
        """Returns for how many seconds the send buffer has been full."""
        return 0.0 if self._paused_since is None else now - self._paused_since

    def pause(self) -> None:
        """Stops `write` until the client has read."""
        self._paused_since = self._clock.monotonic()

    def resume(self) -> None:
        """Lets `write` continue."""
        self._paused_since = None
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)

    def lost(self) -> None:
        """Makes `write` fail: the connection is closed."""
        self._lost = True
        self.resume()

    def write_continue(self) -> None:
        """Sends `100 Continue` to a client that waits with its body."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def write_now(self, response: ServerResponse) -> None:
        """Writes a short response to a request that could not be read; the connection closes after it."""
        assert isinstance(response.body, bytes)
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(_head(response, length=len(response.body), chunked=False, close=True) + response.body)

    async def write(self, request: ServerRequest, response: ServerResponse, *, close: bool) -> None:
        """Writes a response. `close` announces that it is the last one."""
        bodiless = request.method == "HEAD" or response.status in _BODILESS
        if isinstance(response.body, bytes):
            length = None if response.status in _BODILESS else len(response.body)
            head = _head(response, length=length, chunked=False, close=close)
            if bodiless:
                await self._send(head)
            elif len(response.body) <= _JOINED_BYTES:
                await self._send(head + response.body)
            else:
                await self._send(head)
                await self._send(response.body)
            return
        try:
            announced = any(name.lower() == "content-length" for name, _ in response.headers)
            chunked = not announced and not bodiless and request.version == "1.1"
            await self._send(_head(response, length=None, chunked=chunked, close=close))
            if not bodiless:
                await self._stream(response.body, chunked=chunked)
        finally:
            aclose = getattr(response.body, "aclose", None)
            if aclose is not None:
                await aclose()

    async def _stream(self, pieces: AsyncIterator[bytes], *, chunked: bool) -> None:
        async for piece in pieces:
            if piece:
                await self._send(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if chunked:
            await self._send(b"0\r\n\r\n")

    async def _send(self, data: bytes) -> None:
        view = memoryview(data)
        for begin in range(0, len(data), _PIECE_BYTES):
            if len(data) > _JOINED_BYTES:
                await self._turns.next()  # TLS encrypts it in this turn of the event loop
            if self._lost or self.transport is None or self.transport.is_closing():
                raise ConnectionResetError("the client closed the connection")
            self.transport.write(view[begin : begin + _PIECE_BYTES])
            if self._paused_since is not None:
                await self._until_resumed()

    async def _until_resumed(self) -> None:
        self._resumed = asyncio.get_running_loop().create_future()
        try:
            await self._resumed
        finally:
            self._resumed = None


def _head(response: ServerResponse, *, length: int | None, chunked: bool, close: bool) -> bytes:
    headers: Sequence[tuple[str, str]] = response.headers
    check_headers(headers)
    lines = [_status_line(response.status)]
    lines += [f"{name}: {value}\r\n" for name, value in headers]
    if length is not None:
        lines.append(f"Content-Length: {length}\r\n")
    if chunked:
        lines.append("Transfer-Encoding: chunked\r\n")
    if close:
        lines.append("Connection: close\r\n")
    lines.append(f"Date: {formatdate(usegmt=True)}\r\n\r\n")
    return "".join(lines).encode()


@lru_cache(maxsize=64)
def _status_line(status: int) -> str:
    try:
        phrase = http.HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n"
