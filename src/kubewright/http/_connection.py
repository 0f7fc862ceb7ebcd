"""`ServerConnection`: the life of one connection.

    handshake → head → body → handling → idle → head …
                                  ↘ lingering → closing → closed
                                  ↘ upgraded → closing → closed

llhttp parses what arrives. This file decides which request runs, how much is buffered, how long each state may last,
and when the connection ends. In a state of `WAITING`, it may be closed in favor of another client.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from typing import Any, Final, cast

import httptools

from kubewright.durations import format_duration
from kubewright.http._byte_streams import ConnectionStream
from kubewright.http._headers import Headers
from kubewright.http._host import Host, State
from kubewright.http._messages import (
    BodyTimeout,
    BodyTooLarge,
    DropConnection,
    MalformedBody,
    ServerRequest,
    ServerResponse,
    TooManyHeaders,
    plain_response,
)
from kubewright.http._request_head import RequestHead
from kubewright.http._writing import ResponseWriter

__all__ = ["ServerConnection"]

logger = logging.getLogger("kubewright.http")

_UNREAD_BYTES: Final = 256 * 1024  # reading pauses beyond this until the handler reads
_LINGER_SECONDS: Final = 5.0  # closing earlier would reset the connection before a busy client reads the response
_LINGER_BYTES: Final = 256 * 1024  # as in Go: a client that sends without end must not keep the server busy


class ServerConnection(asyncio.Protocol):
    """One connection: it reads requests, runs the handler for one at a time, and writes the responses in order."""

    def __init__(self, host: Host[ServerConnection], accepted: socket.socket) -> None:
        self.socket = accepted
        self.transport: asyncio.Transport | None = None
        self.state: State = "handshake"
        self.since = host.clock.monotonic()
        self.served = False
        """Whether a request of it was answered."""
        self.task: asyncio.Task[None] | None = None
        self._host = host
        self._limits = host.limits
        self._seconds: dict[State, float] = {
            "head": host.limits.header_seconds,
            "idle": host.limits.idle_seconds,
            "lingering": _LINGER_SECONDS,
            "closing": host.limits.write_seconds,
        }
        self._writer = ResponseWriter(host.clock, host.turns)
        self._queue: deque[ServerRequest] = deque()
        self._current: ServerRequest | None = None
        self._receiving: ServerRequest | None = None  # its body arrives now
        self._wake: asyncio.Future[None] | None = None  # the handler waits for a piece of the body
        self._failure: Exception | None = None
        self._reading_paused = False
        self._is_lost = False
        self._last = False  # nothing after the requests that have arrived is read
        self._peer: tuple[str, Any, Any, bytes] = ("", None, None, b"")
        self._head = RequestHead(host.limits.header_bytes)
        self._quiet_bytes = 0  # received since the last complete head or piece of a body
        self._unread = 0
        self._discarded = 0  # while lingering
        self._after_upgrade = b""  # arrived behind a request that asks for another protocol
        self._upgraded: ConnectionStream | None = None
        self.on_url, self.on_header = self._head.on_url, self._head.on_header  # called by the parser
        self._parser = httptools.HttpRequestParser(self)

    # States

    def enter(self, state: State) -> None:
        """Changes the state, and starts its deadline."""
        self.state = state
        self.since = self._host.clock.monotonic()
        self._host.entered(self)

    def forget_bodies(self) -> int:
        """Stops counting the bodies of this connection, and returns their size so far."""
        requests = [each for each in (self._current, *self._queue) if each is not None]
        size = sum(each.received for each in requests)
        for each in requests:
            each.received = 0
        self._receiving = None  # the rest of what arrived is not kept
        return size

    def abort(self) -> None:
        """Resets the connection. A TLS close would wait for the client."""
        self._last = True
        if self.transport is not None:
            self.transport.abort()

    def check_deadline(self, now: float) -> None:
        """Ends the connection if its client has been too slow."""
        limits, elapsed = self._limits, now - self.since
        if self._upgraded is not None:
            if asyncio.get_running_loop().time() - self._upgraded.active_at >= limits.upgraded_idle_seconds:
                self.abort()
        elif self._writer.stalled_for(now) >= limits.write_seconds:
            self.abort()
        elif self.state == "body":
            if elapsed >= limits.body_seconds and not self._reading_paused:
                self._fail(BodyTimeout(f"the body did not arrive within {format_duration(limits.body_seconds)}"))
        elif elapsed >= self._seconds.get(self.state, elapsed + 1):
            self.abort()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts to read the first request."""
        self.transport = self._writer.transport = cast("asyncio.Transport", transport)
        address = transport.get_extra_info("peername")
        session = transport.get_extra_info("ssl_object")
        content = b"" if session is None else session.getpeercert(binary_form=True) or b""
        self._peer = (str(address[0]) if address else "", address, transport.get_extra_info("peercert"), content)
        self.enter("head")

    def data_received(self, data: bytes) -> None:
        """Parses what arrived."""
        if self.state == "idle":
            self.enter("head")
        elif self.state == "lingering":
            self._discarded += len(data)
            if self._discarded > _LINGER_BYTES:
                self._pause_reading()
                return
        if self._last and self._receiving is None:
            return  # nothing more is answered on this connection
        self._quiet_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._last = True  # the handler decides whether the protocol changes
            self._after_upgrade = data[upgrade.args[0] :]
            self._pause_reading()
        except httptools.HttpParserError as error:
            self._refuse(error)
            return
        if self._quiet_bytes > self._limits.header_bytes:
            self._refuse(TooManyHeaders())
            return
        if self._unread > _UNREAD_BYTES or self._queue:
            self._pause_reading()
        self._notify()

    def connection_lost(self, error: Exception | None) -> None:
        """Releases what the connection holds. Further calls do nothing."""
        if self._is_lost:
            return
        self._is_lost = self._last = True
        cancel = self._host.cancel_on_disconnect and self._upgraded is None  # its handler reads the end
        self.enter("closed")
        self._writer.lost()
        self._host.received(self, -sum(each.received for each in self._queue))
        self._queue.clear()
        self._fail(ConnectionResetError("the client closed the connection"))
        if self.task is not None and cancel:
            self.task.cancel()
        # The parser and the transport refer to this object: without them it needs no garbage collection.
        self.transport = self._writer.transport = None
        del self._parser

    def pause_writing(self) -> None:
        """Notes that the client does not keep up."""
        self._writer.pause()

    def resume_writing(self) -> None:
        """Notes that the client has caught up."""
        self._writer.resume()

    # Called by the parser

    def on_message_begin(self) -> None:
        """Starts another request."""
        if self._last:
            raise ValueError("no request may follow")
        self._head.begin()

    def on_headers_complete(self) -> None:
        """Hands the request to the handler, or queues it."""
        self._head.is_open = False
        self._quiet_bytes = 0
        version = self._parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise ValueError("not HTTP/1.1")
        request = ServerRequest(
            self,
            method=self._parser.get_method().decode(),
            target=self._head.target,
            version=version,
            headers=Headers(self._head.pairs),
            keep_alive=version == "1.1" and self._parser.should_keep_alive() and not self._parser.should_upgrade(),
        )
        request.upgrades = version == "1.1" and self._parser.should_upgrade()
        request.peer, request.peer_address, request.certificate, request.certificate_bytes = self._peer
        self._receiving = request
        if self._current is not None:
            if len(self._queue) >= self._limits.pipelined:
                raise ValueError("too many requests are sent ahead")
            self._queue.append(request)
        else:
            self._start(request)

    def on_body(self, piece: bytes) -> None:
        """Keeps a piece of the body for the handler."""
        self._quiet_bytes = 0
        request = self._receiving
        if request is not None and self.state not in ("lingering", "closed"):
            request.arrived.append(piece)
            request.received += len(piece)
            self._unread += len(piece)
            self._host.received(self, len(piece))

    def on_message_complete(self) -> None:
        """Marks the body as complete."""
        request, self._receiving = self._receiving, None
        if request is None:
            return
        request.complete = True
        if not request.keep_alive:
            self._last = True
        if self.state == "lingering":
            self._close()
        elif request is self._current:
            self.enter("handling")

    # Bodies

    async def next_piece(self, request: ServerRequest) -> bytes:
        """Returns the bytes of this request's body that have arrived; no bytes at its end."""
        if request.expects_continue and not request.arrived and not request.complete:
            request.expects_continue = False
            self._writer.write_continue()
        waited = not request.arrived and not request.complete
        while not request.arrived and not request.complete:
            if self._failure is not None:
                raise self._failure
            self._wake = asyncio.get_running_loop().create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        if waited and request.complete:
            await self._host.turns.next(urgent=self._host.is_urgent(request))
        piece = request.arrived[0] if len(request.arrived) == 1 else b"".join(request.arrived)
        request.arrived.clear()
        self._unread -= len(piece)
        if not self._queue:
            self._resume_reading()
        return piece

    def _fail(self, failure: Exception) -> None:
        """Raises the failure in the handler that waits for the body."""
        self._failure = self._failure or failure
        self._last = True
        self._notify()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _pause_reading(self) -> None:
        if not self._reading_paused and self.transport is not None and not self.transport.is_closing():
            self._reading_paused = True
            self.transport.pause_reading()

    def _resume_reading(self) -> None:
        if self._reading_paused and self.transport is not None and not self.transport.is_closing():
            self._reading_paused = False
            self.since = self._host.clock.monotonic()  # the handler was slow, not the client
            self.transport.resume_reading()

    # Requests and responses

    def _start(self, request: ServerRequest) -> None:
        self._current = request
        self.enter("handling" if request.complete else "body")
        self.task = asyncio.get_running_loop().create_task(self._serve(request))

    async def _serve(self, request: ServerRequest) -> None:
        try:
            response = await self._answer(request)
            # A body that has not arrived by now is discarded, and nothing after it is read.
            last = self._last = self._last or response.close or not request.keep_alive or not request.complete
            closes = response.upgrade is None and (last or self._host.stopping)
            await self._writer.write(request, response, close=closes)
            self.served = True
            await self._upgrade(response)
        except (DropConnection, ConnectionError):
            self.abort()
        except asyncio.CancelledError:
            self.abort()
            raise
        except Exception:
            logger.exception("the response to %s %s failed", request.method, request.path)
            self.abort()
        finally:
            self._current = self.task = None
            request.arrived.clear()
            self._host.received(self, -request.received)
        self._continue(request)

    async def _upgrade(self, response: ServerResponse) -> None:
        """Gives the connection to the handler of another protocol, until that returns."""
        if self.transport is None or response.upgrade is None:
            return
        self.enter("upgraded")
        self._upgraded = ConnectionStream.take_over(self.transport, self._after_upgrade, self.connection_lost)
        try:
            await response.upgrade(self._upgraded)
        finally:
            self._upgraded = None

    async def _answer(self, request: ServerRequest) -> ServerResponse:
        try:
            if request.complete:  # otherwise the work begins when the body has arrived
                await self._host.turns.next(urgent=self._host.is_urgent(request))
            response = await self._host.handler(request)
            if response.status == 101 and not request.upgrades:
                raise ValueError("the client did not ask for an upgrade")
            return response
        except (DropConnection, ConnectionError):
            raise
        except BodyTooLarge as error:
            return plain_response(413, str(error))
        except BodyTimeout as error:
            return plain_response(408, str(error))
        except MalformedBody as error:
            return plain_response(400, str(error))
        except Exception:
            logger.exception("the handler of %s %s failed", request.method, request.path)
            return plain_response(500, "internal server error")

    def _continue(self, request: ServerRequest) -> None:
        """Starts the next request, waits for one, or ends the connection."""
        if self.transport is None or self.transport.is_closing():
            return
        if self._queue and not self._host.stopping:
            self._start(self._queue.popleft())
            if not self._queue:
                self._resume_reading()
        elif not request.complete:
            self._linger()
        elif self._last or self._host.stopping:
            self._close()
        elif self._head.is_open:
            self.enter("head")
        else:
            self.enter("idle")

    def _refuse(self, error: Exception) -> None:
        """Answers input that is not HTTP, after the requests before it. The parser cannot be used again."""
        self._last = True
        self._receiving = None
        if self.state == "lingering":
            self.abort()
            return
        if self._current is not None:
            self._fail(MalformedBody("the body is malformed"))
            return
        too_many = isinstance(error, TooManyHeaders) or isinstance(error.__context__, TooManyHeaders)
        status, message = (431, "the headers are too large") if too_many else (400, "not an HTTP request")
        self._writer.write_now(plain_response(status, message))
        self._linger()

    def _linger(self) -> None:
        """Discards a little of what the client still sends, so that it can read the response.

        The client gets the end of the stream right behind the response; TLS has no such half-closed state.
        """
        self._last = True
        self.enter("lingering")
        if self.transport is not None and self.transport.can_write_eof():
            self.transport.write_eof()
        self._resume_reading()

    def _close(self) -> None:
        self._last = True
        self.enter("closing")  # until the client has read the rest
        if self.transport is not None:
            self.transport.close()
