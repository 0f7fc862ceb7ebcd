"""`Connection`: one HTTP/1.1 connection and its current exchange.

llhttp, the parser of Node.js (httptools), parses the responses. This module decides everything else: which side sends,
how much is buffered, how long to wait, and what a closed connection means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import cast

import httptools

from kubewright.client._heads import Headers
from kubewright.durations import format_duration
from kubewright.http import ConnectionStream

__all__ = ["Broken", "Connection"]

_UNREAD_AT_MOST = 2**20  # a watch of busy kinds arrives in large pieces; small buffers stop and start the socket
_PIECE_OVERHEAD = 48  # memory of a Python bytes object besides its content
_MAX_HEAD_BYTES = 2**18
_MAX_HEADERS = 1000
_MAX_INFORMATIONAL = 8
# Go's client has the same rule, with 16 KiB: chunk sizes, chunk extensions and trailers may exceed the data by this
# much.
_MAX_FRAMING_BYTES = 2**16
_FRAMING_PER_PIECE = 16
_WRITTEN_AT_ONCE = 2**18
_WORDS = 12  # of the parser's message


class Broken(Exception):
    """There is no complete response. `answered` is true if a part of it arrived."""

    def __init__(self, why: str, *, answered: bool = False) -> None:
        super().__init__(why)
        self.answered = answered


class Connection(asyncio.Protocol):
    """One request at a time: `ask`, then `piece` until it is empty. Afterwards it is `reusable` or finished.

    Calls `lost` exactly once, when either side closes the connection. The task that waits then receives the error, as
    do later calls.
    """

    def __init__(self, tls: object, lost: Callable[[Connection], None]) -> None:
        self.tls = tls
        """The identity with which the connection was opened. Other credentials need another connection."""
        self.idle_since = 0.0
        self.transport: asyncio.Transport | None = None
        self.status = 0
        self.headers = Headers([])
        self._loop = asyncio.get_running_loop()
        self._lost = lost
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_received = 0.0
        self._error: BaseException | None = None
        self._asking = False
        self._bodiless = False
        self._may_upgrade = False
        self._after_upgrade: bytes | None = None  # arrived behind the head of a response with status 101
        self._writing = False
        self._write_paused = False
        self._read_paused = False
        self._answered = False
        self._complete = False
        self._keep_alive = False
        self._pairs: list[tuple[bytes, bytes]] = []
        self._head_size = 0
        self._informational = 0
        self._framing = 0
        self._pieces: list[bytes] = []
        self._unread = 0
        self.on_body = self._pieces.append  # called by the parser, like the methods below with such names
        self._parser = httptools.HttpResponseParser(self)

    # Requests

    async def ask(
        self,
        head: bytes,
        body: bytes,
        *,
        timeout: float | None,
        between: bool,
        bodiless: bool,
        upgrade: bool,
        before: Callable[[], None] | None,
    ) -> None:
        """Sends a request and waits for the head of its response.

        With `bodiless`, as for HEAD, the head is the whole response. With `upgrade`, the connection becomes a stream
        after a response with status 101: see `upgraded`. Calls `before` at the last moment; if that raises, nothing was
        sent. The timeout is for the whole exchange or, with `between`, for the time between two pieces.
        """
        self.check()
        if before is not None:
            before()
        self._begin(timeout, between=between)
        self._bodiless, self._may_upgrade = bodiless, upgrade
        await self._write(head, body)
        while not self._answered:
            await self._wait()

    async def piece(self) -> bytes:
        """Returns the next piece of the body, as much as has arrived; empty at its end."""
        while not self._pieces:
            if self._complete:
                return b""
            await self._wait()
        return self._take()

    def upgraded(self) -> ConnectionStream:
        """Returns the connection as a stream of bytes, after a response with status 101. It is not used again."""
        self.check()
        if self.transport is None or self._after_upgrade is None:
            raise Broken("it was not upgraded", answered=True)
        self._stop_timer()
        first, self._after_upgrade = self._after_upgrade, None
        return ConnectionStream.take_over(self.transport, first, self.connection_lost)

    @property
    def address(self) -> Hashable:
        """The local address of the connection, which the server sees as that of its peer."""
        return self.transport.get_extra_info("sockname") if self.transport is not None else None

    @property
    def reusable(self) -> bool:
        """Whether another request can be sent."""
        return self._complete and self._keep_alive and not self._writing and self._waiter is None and self.is_open

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it."""
        return self._error is None and self.transport is not None and not self.transport.is_closing()

    def check(self) -> None:
        """Raises the error with which the connection failed, if it failed."""
        if self._error is not None:
            raise self._error

    def rest(self, since: float) -> None:
        """Ends the current exchange, even if its response is unread, so that another can follow."""
        self._stop_timer()
        self._take()
        self._asking = False
        self.idle_since = since

    def give_up(self) -> None:
        """Closes the connection, because it is no longer needed."""
        self.fail(Broken("it was closed by this client", answered=self._answered))

    def fail(self, error: BaseException) -> None:
        """Aborts the connection with an error. A proper TLS shutdown would wait for the other side."""
        self._error = self._error or error
        self._stop_timer()
        if self.transport is not None:
            self.transport.abort()
        self._wake_waiter()

    def _take(self) -> bytes:
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._unread = 0
        if self._read_paused and self.transport is not None:
            self._read_paused = False
            self._last_received = self._loop.time()  # the silence was caused by this side
            self.transport.resume_reading()
        return piece

    def _begin(self, timeout: float | None, *, between: bool) -> None:
        self._asking = True
        self._answered = self._complete = self._keep_alive = False
        self._head_size = self._informational = self._framing = 0
        self._last_received = self._loop.time()
        if timeout is not None:
            call = self._check_silence if between else self._fail_late
            self._timer = self._loop.call_later(timeout, call, timeout)

    async def _write(self, head: bytes, body: bytes) -> None:
        """Writes the body in pieces, so that a large body does not block the event loop.

        Stops if the server answers early.
        """
        assert self.transport is not None
        self.transport.write(head + body[:_WRITTEN_AT_ONCE])
        self._writing = True
        for begin in range(_WRITTEN_AT_ONCE, len(body), _WRITTEN_AT_ONCE):
            while self._write_paused and not self._answered:
                await self._wait()
            if self._answered:
                return
            self.transport.write(body[begin : begin + _WRITTEN_AT_ONCE])
        self._writing = False

    # Timeouts

    async def _wait(self) -> None:
        self.check()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake_waiter(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail_late(self, timeout: float) -> None:
        self.fail(TimeoutError(f"no answer within {format_duration(timeout)}"))

    def _check_silence(self, timeout: float) -> None:
        """Fails if nothing has arrived for that long. One timer serves all pieces: there may be many; few are late."""
        left = timeout if self._read_paused else self._last_received + timeout - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check_silence, timeout)
        else:
            self.fail(TimeoutError(f"nothing was received for {format_duration(timeout)}"))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when it is open."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called with received data."""
        if not self._asking or self._complete:
            self.fail(Broken("the server sent data without a request"))
            return
        self._last_received = self._loop.time()
        in_body, before = self._answered, len(self._pieces)
        if not in_body:
            if self._head_size > _MAX_HEAD_BYTES:
                self.fail(_limit_exceeded(f"the response headers exceed {_MAX_HEAD_BYTES} bytes"))
                return
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if not self._may_upgrade or self.transport is None:
                self.fail(_unreadable("it wants to switch protocols"))
                return
            self._after_upgrade = data[upgrade.args[0] :]
            self._answered = True
            self.transport.pause_reading()
        except httptools.HttpParserError as error:  # the response may be complete, and the rest is not a response
            said = error.__context__  # by a method below that the parser called
            self.fail(said if isinstance(said, Broken) else _unreadable(str(error)))
            return
        arrived = len(self._pieces) - before
        if in_body:
            body = sum(map(len, self._pieces[before:]))
            self._framing = max(0, self._framing + len(data) - 3 * body - _FRAMING_PER_PIECE * arrived)
            if self._framing > _MAX_FRAMING_BYTES:
                self.fail(_limit_exceeded(f"trailers and chunk extensions exceed {_MAX_FRAMING_BYTES} bytes"))
                return
        self._unread += len(data) + _PIECE_OVERHEAD * arrived
        if self._unread > _UNREAD_AT_MOST and self._pieces and not self._read_paused and self.transport is not None:
            self._read_paused = True
            self.transport.pause_reading()
        self._wake_waiter()

    def connection_lost(self, error: Exception | None) -> None:
        """Called when it is closed."""
        self._stop_timer()
        if self._error is None and not self._complete:
            # Not while reading is paused: uvloop then drops data that has not been read.
            self._complete = error is None and self._ends_with_connection() and not self._read_paused
            if not self._complete:
                why = "its response broke off" if self._answered else "it was closed without a response"
                self._error = Broken(why, answered=self._answered)
                self._error.__cause__ = error
        self._error = self._error or Broken("it is closed")
        self._wake_waiter()
        self._lost(self)

    def pause_writing(self) -> None:
        """Called when the write buffer is full."""
        self._write_paused = True

    def resume_writing(self) -> None:
        """Called when writing can continue."""
        self._write_paused = False
        self._wake_waiter()

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        """Called at the first byte of a response. A response without a request is not read."""
        if self._complete:
            raise Broken("the server sent data without a request", answered=True)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps a header. Drops a trailer: no caller reads trailers, and a server may send them endlessly."""
        if self._answered:
            return
        if len(self._pairs) >= _MAX_HEADERS:
            raise _limit_exceeded(f"the response has more than {_MAX_HEADERS} headers")
        self._pairs.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Called at the end of the head of a response, or of an informational one."""
        status = self._parser.get_status_code()
        pairs, self._pairs = self._pairs, []
        if status >= 200 or (status == 101 and self._may_upgrade):
            self.status, self.headers = status, Headers(pairs)
            self._answered = True
            self._complete = self._bodiless  # cannot be reused: the parser waits for the body
            return
        self._informational += 1
        if self._informational > _MAX_INFORMATIONAL:
            raise _limit_exceeded(f"the server sent more than {_MAX_INFORMATIONAL} informational (1xx) responses")

    def on_message_complete(self) -> None:
        """Called at the end of a response."""
        if self._answered:
            self._complete = True
            self._keep_alive = self._parser.should_keep_alive()

    def _ends_with_connection(self) -> bool:
        """Whether only the end of the connection ends the current response."""
        framed = "Content-Length" in self.headers or "Transfer-Encoding" in self.headers
        return self._answered and not framed


def _limit_exceeded(limit: str) -> Broken:
    return Broken(f"{limit}, which is the limit", answered=True)


def _unreadable(why: str) -> Broken:
    return Broken(f"its response cannot be parsed ({' '.join(why.split()[:_WORDS])})", answered=True)
