"""`LargeBodies`: how many large pieces of responses one client collects at the same time."""

from __future__ import annotations

import asyncio
from typing import Final

__all__ = ["BodySlot", "LargeBodies"]

_LARGE_BYTES: Final = 2**20
_AT_ONCE: Final = 4


class LargeBodies:
    """Lets a client collect a few large bodies or watch events at once, so that many of them do not fill the memory.

    The others wait, and their servers with them. This takes no longer: one event loop reads them all.
    """

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_AT_ONCE)

    def slot(self) -> BodySlot:
        """Returns the slot of one response."""
        return BodySlot(self._free)


class BodySlot:
    """The slot of one response among the large ones. Taken while it has collected more than 1 MiB."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._is_taken = False

    async def collected(self, size: int) -> None:
        """Waits for the slot if the response has become large, and leaves it if it no longer is."""
        if size <= _LARGE_BYTES:
            self.leave()
        elif not self._is_taken:
            await self._free.acquire()
            self._is_taken = True

    def leave(self) -> None:
        """Leaves the slot. Must be called when the response ends."""
        if self._is_taken:
            self._is_taken = False
            self._free.release()
