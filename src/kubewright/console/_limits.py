"""`Limits`: the connections, sizes and deadlines of the console's server."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits on what clients can consume.

    Fields with the same name mean the same as those of `kubewright.http.ServerLimits`, except `body_bytes`, which
    bounds one body. The console cannot use that server, because NiceGUI needs ASGI and WebSockets.
    """

    connections: int = 128
    """Open connections. A TLS connection takes 0.35 MB (measured), so 128 take less than 64 MB."""
    reserved: int = 8
    """Additional connections for probes when all others are busy."""
    header_seconds: float = 32.0
    """From the first byte to the end of the headers; for the first request from the connection, including TLS."""
    body_seconds: float = 32.0
    """From the end of the headers to the end of the body."""
    idle_seconds: float = 60.0
    """Between two requests."""
    write_seconds: float = 32.0
    """Time in which a client must read 16 KiB, or everything that is buffered."""
    request_seconds: float = 120.0
    """From the end of the headers to the end of the response. WebSockets are exempt."""
    header_bytes: int = 32_768
    header_count: int = 100
    body_bytes: int = 1_000_000
    """Size of a request body, and of a WebSocket message."""
    pipelined: int = 8
    """Requests that a client may send before it has received the response to the first one."""
