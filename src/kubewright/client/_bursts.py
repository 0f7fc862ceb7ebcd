"""Reads bursts of data in large pieces.

kube-apiserver sends each event of a watch separately, so ten thousand objects wake the reader thousands of times: half
of the cost of receiving them. During a burst, the kernel is asked to wait until there is much to read, for a few
milliseconds at most. A watch with occasional changes still receives each of them immediately.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

__all__ = ["Bursts"]

_LONGEST_WAIT = 0.005  # for the last piece of a burst
_BURST = 2**16  # bytes within that time: events of 2 KB would have to arrive every 0.15 ms
_GATHERED = 2**18  # what asyncio and uvloop read in one call over TLS
_OPTION = getattr(socket, "SO_RCVLOWAT", None)  # Windows has none
_AT_ONCE = 1


class Bursts:
    """Detects bursts on one connection and has the kernel gather them.

    Close it at the end, because connections are reused.
    """

    def __init__(self, transport: asyncio.BaseTransport | None, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._socket: Any = transport.get_extra_info("socket") if transport is not None and _OPTION else None
        self._until: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._size = 0

    def arrived(self, size: int) -> None:
        """Records that this many bytes were read."""
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
        """Restores the connection."""
        if self._until is not None:
            self._until.cancel()
            self._end()

    def _end(self) -> None:
        # Data that has arrived by now is read in the next turn of the loop. If it is much, the burst continues.
        self._until = None
        self._wait_for(_AT_ONCE)

    def _wait_for(self, size: int) -> bool:
        if self._transport is None or self._transport.is_closing():  # its descriptor may be reused
            return False
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _OPTION, size)
        except OSError:  # a system without this option
            self._socket = None
            return False
        return True
