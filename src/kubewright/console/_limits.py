"""`Limits`: the connections, sizes and deadlines of the console's server."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one client can take of the server."""

    connections: int = 128
    """Open connections. Over TLS, a connection takes 0.35 MB (measured), so these take less than 64 MB."""
    reserved: int = 8
    """Further connections for probes, when all others are busy."""
    header_seconds: float = 32.0
    """From the first byte to the end of the header; for the first request from the connection, TLS included."""
    body_seconds: float = 32.0
    """From the end of the header to the end of the body."""
    idle_seconds: float = 60.0
    """Between two requests."""
    send_seconds: float = 32.0
    """In which a client must read 16 KiB, or all there is."""
    request_seconds: float = 120.0
    """From the end of the header to the end of the response. Web sockets are exempt."""
    header_bytes: int = 32_768
    header_count: int = 100
    body_bytes: int = 1_000_000
    """Of a request body, and of a message on a web socket."""
    pipelined: int = 8
    """Requests that a client may send before it has the response to the first one."""
