"""The connections of the console's server: how many there are, and how long each may wait.

`Connections` decides; `_listener.py` accepts sockets and reports what happens on them. The only I/O here is closing a
connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass, field
from typing import Final

from kubewright.clock import Clock
from kubewright.console._limits import Limits

__all__ = ["Connection", "Connections"]

_PROGRESS_BYTES: Final = 16_384


@dataclass(eq=False)
class Connection:
    """One accepted socket and its deadlines."""

    sock: socket.socket
    clock: Clock = field(repr=False)
    reserved: bool = False
    """Accepted while all others were busy: only the health endpoint is served."""
    transport: asyncio.Transport | None = None
    upgraded: bool = False
    """Whether the connection is a WebSocket."""
    header_since: float | None = None
    body_since: float | None = None
    request_since: float | None = None
    idle_since: float | None = None
    stalled_since: float | None = None
    _unsent: int = 0

    @property
    def closed(self) -> bool:
        """Whether the socket is closed."""
        return self.sock.fileno() < 0

    @property
    def waiting_since(self) -> float | None:
        """Since when the server waits for this client; None while the client waits for the server."""
        if self.upgraded:
            return self.stalled_since
        if self.request_since is not None and self.body_since is None:
            return self.stalled_since
        known = (self.body_since, self.header_since, self.idle_since)
        return next((since for since in known if since is not None), None)

    def begin_request(self) -> None:
        """Called for the first byte of a request."""
        if self.header_since is None:
            self.header_since, self.idle_since = self.clock.monotonic(), None

    def end_header(self) -> None:
        """Called when the headers of a request are complete."""
        now = self.clock.monotonic()
        self.header_since, self.body_since = None, now
        self.request_since = self.request_since or now

    def end_body(self) -> None:
        """Called when the body of a request is complete."""
        self.body_since = None

    def end_response(self) -> None:
        """Called when all requests have their responses."""
        self.request_since = None
        if self.header_since is None:
            self.idle_since = self.clock.monotonic()

    def upgrade(self) -> None:
        """Called when the connection becomes a WebSocket."""
        self.upgraded = True
        self.header_since = self.body_since = self.request_since = self.idle_since = None

    def check_progress(self) -> None:
        """Detects whether the client reads what is sent to it."""
        unsent = 0 if self.transport is None else self.transport.get_write_buffer_size()
        if not unsent:
            self.stalled_since = None
        elif self.stalled_since is None or unsent <= self._unsent - _PROGRESS_BYTES:
            self.stalled_since, self._unsent = self.clock.monotonic(), unsent

    def overdue(self, limits: Limits) -> str:
        """Returns which deadline has passed; empty if none has."""
        now = self.clock.monotonic()
        deadlines = (
            ("header", self.header_since, limits.header_seconds),
            ("body", self.body_since, limits.body_seconds),
            ("response", self.request_since, limits.request_seconds),
            ("idle", self.idle_since, limits.idle_seconds),
            ("write", self.stalled_since, limits.write_seconds),
        )
        return next((name for name, since, most in deadlines if since is not None and now >= since + most), "")

    def abort(self) -> None:
        """Closes the connection without sending buffered data."""
        if self.transport is not None:
            self.transport.abort()
        else:  # during the TLS handshake, which fails and closes the socket
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


class Connections:
    """All connections of a server.

    At the limit, a new connection replaces the one for whose client the server has waited longest. If the server waits
    for no client, the new connection is reserved for probes.
    """

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self.limits = limits
        self._clock = clock
        self._connections: list[Connection] = []
        self._closing: list[Connection] = []

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def closing(self) -> int:
        """The number of closed connections whose socket and buffers are not freed yet by the event loop."""
        self._closing = [one for one in self._closing if not one.closed]
        return len(self._closing)

    def admit(self, sock: socket.socket) -> Connection:
        """Returns the connection of an accepted socket. Closes another one if there are too many."""
        made = Connection(sock, self._clock, header_since=self._clock.monotonic())
        self._drop_closed()
        ordinary = [one for one in self._connections if not one.reserved]
        if len(ordinary) >= self.limits.connections and not self._close_one(ordinary):
            made.reserved = True
            reserved = [one for one in self._connections if one.reserved]
            if len(reserved) >= self.limits.reserved and not self._close_one(reserved):
                self._close(reserved[0])
        self._connections.append(made)
        return made

    def may_serve(self, connection: Connection) -> bool:
        """Whether a connection may request more than the health endpoint. A reserved one may once there is room."""
        if connection.reserved:
            self._drop_closed()
            ordinary = sum(not one.reserved for one in self._connections)
            connection.reserved = ordinary >= self.limits.connections
        return not connection.reserved

    def sweep(self) -> list[tuple[Connection, str]]:
        """Closes connections that have passed a deadline. Returns them with the name of the deadline."""
        self._drop_closed()
        for connection in self._connections:
            connection.check_progress()
        late = [(one, reason) for one in self._connections if (reason := one.overdue(self.limits))]
        for connection, _ in late:
            self._close(connection)
        return late

    def close_oldest(self) -> bool:
        """Closes the connection for whose client the server has waited longest. Returns whether there was one."""
        self._drop_closed()
        return self._close_one(self._connections)

    def close(self) -> None:
        """Closes all connections."""
        for connection in [*self._connections]:
            self._close(connection)

    def _close_one(self, among: list[Connection]) -> bool:
        waiting = [(one.waiting_since, one) for one in among if one.waiting_since is not None]
        if waiting:
            self._close(min(waiting, key=lambda found: found[0])[1])
        return bool(waiting)

    def _close(self, connection: Connection) -> None:
        connection.abort()
        self._connections.remove(connection)
        self._closing.append(connection)

    def _drop_closed(self) -> None:
        self._connections = [one for one in self._connections if not one.closed]
