"""What comes fast is taken in large pieces.

kube-apiserver sends each event of a watch by itself, so ten thousand objects wake up the reader thousands of times:
half of what it costs to receive them. While a burst lasts, the kernel is asked to wait until there is much to read, for
some milliseconds at most. A watch with a change now and then hears of each at once, as ever.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

__all__ = ["Bursts"]

_LONGEST_WAIT = 0.005  # for the last piece of a burst
_BURST = 2**16  # bytes within that time: events of 2 KB would have to come every 0.15 ms
_GATHERED = 2**18  # what asyncio and uvloop read at once over TLS
_OPTION = getattr(socket, "SO_RCVLOWAT", None)  # Windows has none
_AT_ONCE = 1


class Bursts:
    """Notices bursts on one connection, if there is one still, and has them gathered.

    To be closed: connections are used again.
    """

    def __init__(self, transport: asyncio.BaseTransport | None, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._socket: Any = transport.get_extra_info("socket") if transport is not None and _OPTION else None
        self._until: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._size = 0

    def arrived(self, size: int) -> None:
        """So many bytes were read."""
        if self._socket is None:
            return
        if self._until is not None:
            self._until.cancel()
            self._until = self._loop.call_later(_LONGEST_WAIT, self._end)
            return
        now = self._loop.time()
        if now - self._since > _LONGEST_WAIT:
            self._since, self._size = now, 0
        self._size += size
        if self._size >= _BURST and self._wait_for(_GATHERED):
            self._until = self._loop.call_later(_LONGEST_WAIT, self._end)

    def close(self) -> None:
        """Leaves the connection as it was."""
        if self._until is not None:
            self._until.cancel()
            self._end()

    def _end(self) -> None:
        # What is there by now is read in the next turn of the loop. Much of it, and the burst is not over.
        self._until = None
        self._wait_for(_AT_ONCE)

    def _wait_for(self, size: int) -> bool:
        if self._transport is None or self._transport.is_closing():  # its socket may be another's soon
            return False
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _OPTION, size)
        except OSError:  # a system that does not know how
            self._socket = None
            return False
        return True
