"""`PageBuilds`: how many pages are built at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.types import Message, Send

from kubewright.turns import Turns

__all__ = ["PageBuilds"]

_AT_A_TIME: Final = 4


class PageBuilds:
    """Builds a few pages at a time. Others wait in the order of arrival.

    A page takes tens of milliseconds of CPU time. The console shares its event loop with an operator, which must renew
    its lease and answer probes between them. Pages that are being built are the newest ones, so that a viewer's limit
    does not delete them for others.
    """

    def __init__(self, at_a_time: int = _AT_A_TIME) -> None:
        self._places = asyncio.Semaphore(at_a_time)
        self._turns = Turns()

    async def run(self, build: Callable[[Send], Awaitable[None]], send: Send) -> None:
        """Calls `build` with the function that sends its response. A client that reads slowly delays no other page."""
        await self._places.acquire()
        building = True

        def end() -> None:
            nonlocal building
            if building:
                building = False
                self._places.release()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                end()
            await send(message)

        try:
            await self._turns.next()
            await build(sent)
        finally:
            end()
