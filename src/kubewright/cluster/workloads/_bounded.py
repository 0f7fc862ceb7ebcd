"""`workloads_transport`: bounds how many requests of the workloads are handled in one turn of the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from kubewright.client import Request, Response, Transport
from kubewright.cluster.machinery import ApiResponse
from kubewright.cluster.workloads._signing import SigningTransport
from kubewright.cluster.workloads._workloads import Workloads

__all__ = ["REQUESTS_PER_TURN", "workloads_transport"]

REQUESTS_PER_TURN: Final = 16
_EVENTS: Final = ("events", "events.events.k8s.io")
_RELEASED: Final = REQUESTS_PER_TURN // 2  # these, and as many that did not wait, may meet in one turn


def workloads_transport(inner: Transport, settings: Workloads | None = None) -> Transport:
    """Returns the transport of the controllers and nodes of a cluster in this process."""
    bounded = _Bounded(SigningTransport(inner))
    return bounded if settings is None or settings.events else _WithoutEvents(bounded)


class _WithoutEvents:
    """Answers requests that write events as if the server had stored them."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> Response:
        """Sends a request, unless it writes an event."""
        if request.resource in _EVENTS and request.verb in ("create", "patch"):
            return ApiResponse(request.body or b"", status=201)
        return await self._inner.send(request)

    async def close(self) -> None:
        """Closes the inner transport."""
        await self._inner.close()


class _Bounded:
    """Begins a bounded number of requests in each turn of the event loop.

    Requests in the same process never wait for a socket. A controller that creates 500 pods in a loop would create all
    of them in one turn, and no other client would be served until then. This transport begins at most
    `REQUESTS_PER_TURN` requests in a turn, of all tasks together. Further requests begin in later turns, in the order
    of arrival.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._left: int | None = None  # None: nothing has begun in this turn
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def send(self, request: Request) -> Response:
        """Sends a request, in this turn or a later one."""
        if self._waiting or not self._reserve_slot():
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        return await self._inner.send(request)

    async def close(self) -> None:
        """Closes the inner transport."""
        await self._inner.close()

    def _reserve_slot(self) -> bool:
        """Returns whether a request may begin in this turn, and counts it."""
        if self._left is None:
            self._left = _RELEASED
            asyncio.get_running_loop().call_soon(self._begin_turn)
        if not self._left:
            return False
        self._left -= 1
        return True

    def _begin_turn(self) -> None:
        self._left, released = None, 0
        while self._waiting and released < _RELEASED:
            turn = self._waiting.popleft()
            if not turn.done():  # not canceled
                turn.set_result(None)
                released += 1
        if released:
            self._left = _RELEASED - released
            asyncio.get_running_loop().call_soon(self._begin_turn)
