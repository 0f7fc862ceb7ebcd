"""The listener under uvicorn: it accepts connections, within limits.

uvicorn has neither a deadline for headers and bodies, nor a limit of their size, nor of connections that counts TLS
handshakes. So it is not given the accepting socket: connections are accepted here, and its protocol is extended.
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


class _Refused(Exception):
    """Ends the parsing of a request that was answered already."""


class _Protocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, with limits: reports what happens to a `Connection`, and refuses what is too large."""

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
            self._refuse(431)

    def _parse(self, data: bytes) -> None:
        # As uvicorn does it, but without a line in the log for each request of a client that speaks no HTTP.
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
        except httptools.HttpParserError as error:
            if not self.transport.is_closing():  # else it was refused already
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
            self._refuse(431)
            raise _Refused

    def on_headers_complete(self) -> None:
        self._connection.end_header()
        self._header_bytes = 0
        if not self._all.may_serve(self._connection) and self.url != HEALTH.encode():
            self._refuse(503)
            raise _Refused
        if len(self.pipeline) >= self._limits.pipelined:
            self._refuse(429)
            raise _Refused
        lengths = [value for name, value in self.headers if name == b"content-length"]
        if any(int(value) > self._limits.body_bytes for value in lengths):  # the parser takes nothing but digits
            self._refuse(413)
            raise _Refused
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.body_bytes:
            self._refuse(413, own=True)
            raise _Refused
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

    def _refuse(self, status: int, *, own: bool = False) -> None:
        """Answers without the application, and closes. Aborts where an earlier response is still to come.

        `own` says that the request in progress is the refused one.
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
    """Accepts connections for a server that has started, until the block ends. The server closes them."""
    listener.setblocking(False)
    tasks = [
        asyncio.create_task(_accept(server, listener, connections, clock), name="the console's listener"),
        asyncio.create_task(_sweep(connections, clock), name="the console's deadlines"),
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
                    logger.warning("cannot accept a connection of the console: %s; closing the oldest idle one", error)
                    connections.close_oldest()
                    await clock.sleep(_PAUSE_SECONDS)
                continue  # any other error is about that one connection
            sock.setblocking(False)
            group.create_task(_connect(server, sock, connections.admit(sock), connections))
            while connections.closing > _CLOSING:  # noqa: ASYNC110  # closing has no event
                await asyncio.sleep(0)  # a full backlog is accepted without a pause otherwise


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
    except (OSError, TimeoutError) as error:  # the client is gone, or does not speak TLS
        # asyncio's future holds the error, whose traceback holds the future and 256 KiB of TLS buffer: a reference
        # cycle, which would stay until the garbage collector runs.
        error.__traceback__ = None
        sock.close()
    except Exception:  # which must not end the listener
        logger.exception("cannot serve a connection of the console")
        sock.close()
    except asyncio.CancelledError:
        connection.abort()
        raise


async def _sweep(connections: Connections, clock: Clock) -> None:
    while True:
        await clock.sleep(_SWEEP_SECONDS)
        for connection, reason in connections.sweep():
            logger.debug("closed a connection of the console: %s timeout (%s)", reason, connection.sock)
