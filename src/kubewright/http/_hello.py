"""`Arrival`: an accepted socket that waits for the first message of TLS.

A handshake takes 45 kB to 0.3 MB from its first byte on. A socket takes next to nothing: connections that say nothing
cost little, and are distinguished from those whose clients have begun.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

__all__ = ["Arrival"]

_RECORD_HEADER_BYTES: Final = 5
_LARGEST_RECORD_BYTES: Final = 2**14 + 2**11
_HANDSHAKE: Final = 22


class Arrival:
    """Waits until a socket has received a whole TLS record, and calls `arrived` once.

    Nothing is read: the handshake reads it. Data that cannot be TLS counts as arrived, and so does the end of the
    stream, so that the handshake reports it.

    Args:
        since: time of the server's clock at which it was accepted.
    """

    def __init__(self, accepted: socket.socket, arrived: Callable[[Arrival], None], *, since: float) -> None:
        self.socket = accepted
        self.since = since
        self._arrived = arrived
        self._knows_size = False
        accepted.setblocking(False)
        self._wait_for(_RECORD_HEADER_BYTES)
        asyncio.get_running_loop().add_reader(accepted.fileno(), self._peek)

    def stop(self) -> None:
        """Stops waiting. The socket stays open."""
        asyncio.get_running_loop().remove_reader(self.socket.fileno())

    def abort(self) -> None:
        """Stops waiting, and closes the socket."""
        self.stop()
        self.socket.close()

    def _peek(self) -> None:
        """Called when the requested number of bytes has arrived, or when no more will come."""
        if not self._knows_size:
            self._knows_size = True
            try:
                head = self.socket.recv(_RECORD_HEADER_BYTES, socket.MSG_PEEK)
            except OSError:
                head = b""
            size = int.from_bytes(head[3:])
            if len(head) == _RECORD_HEADER_BYTES and head[0] == _HANDSHAKE and size <= _LARGEST_RECORD_BYTES:
                self._wait_for(_RECORD_HEADER_BYTES + size)
                return
        self.stop()
        self._wait_for(1)
        self._arrived(self)

    def _wait_for(self, size: int) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
