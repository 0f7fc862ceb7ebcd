"""The bounds of a server: how much a client may send, how long it may take, and how many clients there may be."""

from __future__ import annotations

import msgspec

__all__ = ["ServerLimits"]


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one `Server`. The size of a body is bounded by the handler that reads it."""

    connections: int = 512
    """Open connections, including those that have not finished their TLS handshake. When the limit is reached, a new
    connection replaces the one that has waited longest for its client, first of those that had no response yet; without
    such a one the new one is closed."""
    waiting: int = 256
    """Connections that wait for their clients: handshakes, headers, bodies, idle ones. They need no handler and no
    permission, so a flood consists of them. A TLS connection takes 45 kB on uvloop, 0.3 MB on asyncio's own loop. A new
    connection replaces the one that has waited longest."""
    silent_seconds: float = 0.1
    """How long a new connection whose client has not sent a whole request, or the first message of TLS, is safe from
    being replaced. A client that sends immediately is served during a flood; and with `waiting` connections of this age
    the listen queue of the kernel is emptied in less than half a second."""
    grace_seconds: float = 1.0
    """The same for a client that has begun to send: for a TLS handshake, the request that follows it, and a body. It is
    longer than the handshakes of `waiting` connections take. If every replaceable connection is younger, new ones stay
    in the listen queue of the kernel until one is old enough."""
    body_bytes: int = 32 * 1024 * 1024
    """Bytes of request bodies that are held at a time, by all connections together. One more closes the connection that
    has sent its body for the longest time; without such a one, that of the piece that is too much."""
    header_bytes: int = 64 * 1024
    """Request line and headers, and the trailers of a chunked body; more is answered with 431."""
    header_seconds: float = 32.0
    """From accepting a connection, or from the first byte of a further request, to the end of the headers."""
    body_seconds: float = 60.0
    """From the end of the headers to the end of the body."""
    write_seconds: float = 60.0
    """How long a client may leave a full send buffer unread before its connection is reset."""
    idle_seconds: float = 120.0
    """Between the end of a response and the first byte of the next request."""
    upgraded_idle_seconds: float = 4 * 3600.0
    """How long a connection after an upgrade may carry no bytes in either direction; a kubelet has the same limit."""
    pipelined: int = 16
    """Requests that a client may send ahead without waiting for responses; more closes the connection."""
