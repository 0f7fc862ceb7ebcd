"""`listen`: a listening socket."""

from __future__ import annotations

import socket
from typing import Final

__all__ = ["listen"]

_BACKLOG: Final = 1024


def listen(family: int, address: tuple[object, ...]) -> socket.socket:
    """Returns a listening socket that does not block. Raises OSError if the address cannot be used."""
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # asyncio sets it only for sockets from getaddrinfo. Accepted sockets inherit it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
