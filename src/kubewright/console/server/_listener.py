"""The listener under uvicorn: accepts connections within limits.

uvicorn has no deadlines for headers and bodies, no limits of their size, and no connection limit that counts TLS
handshakes. Therefore this module owns the listening socket, and extends uvicorn's protocol class.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
from collections.abc import AsyncIterator
from socket import socket
from typing import Any, Final

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kubewright.clock import Clock
from kubewright.console.server._connections import Connection, Connections
from kubewright.console.server._security import HEALTH

__all__ = ["accepting"]

logger = logging.getLogger("kubewright.console")

_SWEEP_SECONDS: Final = 1.0
_PAUSE_SECONDS: Final = 1.0
_CLOSING: Final = 8
_NO_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class _Rejected(Exception):
    """Stops the parser after the request was rejected."""


class _Protocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits. Reports to a `Connection`, and rejects requests that are too large."""

    def __init__(self, *, connection: Connection, connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._connection = connection
        self._all = connections
        self._limits = connections.limits
        self._header_bytes = 0
        self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._connection.transport = transport
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        in_header = self._connection.header_since is not None
        self._header_bytes += len(data) if in_header else 0
        self._parse(data)
        if self._connection.header_since is not None and self._header_bytes > self._limits.header_bytes:
            self._reject(431)

    def _parse(self, data: bytes) -> None:
        # Like uvicorn's implementation, but without a log line for each invalid request.
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
        except httptools.HttpParserError as error:
            if not self.transport.is_closing():  # otherwise it was already rejected
                logger.debug("a client sent an invalid HTTP request to the console: %s", error)
                self.send_400_response("Invalid HTTP request received.")

    def on_message_begin(self) -> None:
        self._connection.begin_request()
        self._body_bytes = 0
        self._received = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._check_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._check_header(len(name) + len(value))

    def _check_header(self, more: int) -> None:
        self._received += more
        if self._received > self._limits.header_bytes or len(self.headers) > self._limits.header_count:
            self._reject(431)
            raise _Rejected

    def on_headers_complete(self) -> None:
        self._connection.end_header()
        self._header_bytes = 0
        if not self._all.may_serve(self._connection) and self.url != HEALTH.encode():
            self._reject(503)
            raise _Rejected
        if len(self.pipeline) >= self._limits.pipelined:
            self._reject(429)
            raise _Rejected
        lengths = [value for name, value in self.headers if name == b"content-length"]
        if any(int(value) > self._limits.body_bytes for value in lengths):  # the parser accepts only digits
            self._reject(413)
            raise _Rejected
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.body_bytes:
            self._reject(413, own=True)
            raise _Rejected
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._connection.end_body()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self._connection.end_response()
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        self._connection.upgrade()
        super().handle_websocket_upgrade()

    def _reject(self, status: int, *, own: bool = False) -> None:
        """Answers without the application and closes the connection. Aborts if an earlier response is still pending.

        `own` marks the request in progress as the rejected one.
        """
        cycle: RequestResponseCycle | None = self.cycle  # None until the first request
        if cycle is not None and not cycle.response_complete:
            if not own or self.pipeline or cycle.response_started:
                self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
        phrase = {413: "Content Too Large", 429: "Too Many Requests", 431: "Request Header Fields Too Large"}
        line = f"{status} {phrase.get(status, 'Service Unavailable')}"
        again = "retry-after: 5\r\n" if status == 503 else ""
        head = f"HTTP/1.1 {line}\r\ncontent-type: text/plain\r\ncontent-length: {len(line) + 1}\r\n"
        self.transport.write(f"{head}{again}connection: close\r\n\r\n{line}\n".encode())
        self.transport.close()


@contextlib.asynccontextmanager
async def accepting(
    server: uvicorn.Server, listener: socket, connections: Connections, clock: Clock
) -> AsyncIterator[None]:
    """Accepts connections for a running server until the block ends. The server closes them."""
    listener.setblocking(False)
    tasks = [
        asyncio.create_task(_accept(server, listener, connections, clock), name="console listener"),
        asyncio.create_task(_sweep(connections, clock), name="console connection deadlines"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        listener.close()


async def _accept(server: uvicorn.Server, listener: socket, connections: Connections, clock: Clock) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError as error:
                if error.errno in _NO_RESOURCES:
                    logger.warning("cannot accept a console connection: %s; closing the oldest idle connection", error)
                    connections.close_oldest()
                    await clock.sleep(_PAUSE_SECONDS)
                continue  # other errors concern only that connection
            sock.setblocking(False)
            group.create_task(_connect(server, sock, connections.admit(sock), connections))
            while connections.closing > _CLOSING:  # noqa: ASYNC110  # there is no event for closed sockets
                await asyncio.sleep(0)  # otherwise a full backlog would be accepted without yielding


async def _connect(server: uvicorn.Server, sock: socket, connection: Connection, connections: Connections) -> None:
    config = server.config

    def protocol() -> asyncio.Protocol:
        return _Protocol(
            connection=connection,
            connections=connections,
            config=config,
            server_state=server.server_state,
            app_state=server.lifespan.state,
        )

    context = config.ssl
    timeout = connections.limits.header_seconds if context is not None else None
    try:
        await asyncio.get_running_loop().connect_accepted_socket(
            protocol, sock, ssl=context, ssl_handshake_timeout=timeout
        )
    except (OSError, TimeoutError) as error:  # the client disconnected or does not speak TLS
        # asyncio's future references the error, whose traceback references the future and 256 KiB of TLS buffer. This
        # breaks the cycle, which would otherwise last until the garbage collector runs.
        error.__traceback__ = None
        sock.close()
    except Exception:  # must not end the listener
        logger.exception("cannot serve a console connection")
        sock.close()
    except asyncio.CancelledError:
        connection.abort()
        raise


async def _sweep(connections: Connections, clock: Clock) -> None:
    while True:
        await clock.sleep(_SWEEP_SECONDS)
        for connection, reason in connections.sweep():
            logger.debug("closed a console connection: %s timeout (%s)", reason, connection.sock)
