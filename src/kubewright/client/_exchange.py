"""One request and the head of its response, over a kept connection or a new one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from kubewright.client._connection import Broken, Connection
from kubewright.client._heads import head_of, query_text
from kubewright.client._http_response import HttpResponse
from kubewright.client._large import LargeBodies
from kubewright.client._pool import Pool
from kubewright.client._transport import Request
from kubewright.client.credentials._auth import Identity
from kubewright.clock import Clock, SystemClock

__all__ = ["Exchange", "NotConnected", "request_head"]

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class NotConnected(Exception):
    """There is no connection, and the server has received nothing. `reason` is an `OSError` or a `Broken`."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Exchange:
    """Sends requests to one server.

    Args:
        lost: returns the exception to raise if a body breaks off.
        max_response_bytes: the limit of `HttpResponse.read`.
        clock: held while a connection is opened and a response is awaited. Default: none.
    """

    def __init__(
        self, lost: Callable[[Exception], Exception], max_response_bytes: int, clock: Clock | None = None
    ) -> None:
        self._lost = lost
        self._max_response_bytes = max_response_bytes
        self._clock = clock or SystemClock()
        self._large = LargeBodies()

    async def send(self, pool: Pool, identity: Identity, request: Request, head: bytes) -> HttpResponse:
        """Sends a request and waits for the head of the response.

        A repeatable request is sent again on a new connection if the server has closed a kept one. Raises
        `NotConnected`, `Broken`, `Closed` and `TimeoutError`.
        """
        connection, timeout = pool.take(identity), request.timeout
        began = asyncio.get_running_loop().time()
        if connection is not None:
            try:
                return await self._send_on(connection, pool, request, head, timeout)
            except Broken as error:
                # The server may close a connection at the moment in which it is reused.
                if error.answered or not request.repeatable:
                    raise
        with self._clock.hold(f"the connection for {request}"):
            connection = await _opened(pool, identity, timeout)
        if timeout is not None and not request.stream:
            timeout += began - asyncio.get_running_loop().time()
        return await self._send_on(connection, pool, request, head, timeout)

    async def _send_on(
        self, connection: Connection, pool: Pool, request: Request, head: bytes, timeout: float | None
    ) -> HttpResponse:
        # The local address of the connection is the name of the hold: a server in this process recognizes the work by
        # it.
        hold = self._clock.hold(str(request), connection.address)
        try:
            with hold:
                await connection.ask(
                    head,
                    request.body or b"",
                    timeout=timeout,
                    between=request.stream,
                    bodiless=request.method == "HEAD",
                    upgrade=request.upgrade,
                    before=request.before_send,
                )
        except BaseException:
            pool.give_back(connection)
            raise
        limit = self._max_response_bytes
        return HttpResponse(
            connection, pool, self._lost, stream=request.stream, max_bytes=limit, hold=hold, large=self._large
        )


def request_head(request: Request, prefix: str, headers: Sequence[tuple[str, str]]) -> bytes:
    """Returns the head of a request. Raises ValueError for a string that contains a line break."""
    target = f"{prefix}{request.path}{query_text(tuple(request.query))}"
    headers = [*headers, *request.headers.items()]
    if request.body is not None or request.method in _WITH_BODY:
        headers.append(("Content-Length", str(len(request.body or b""))))
    return head_of(request.method, target, headers)


async def _opened(pool: Pool, identity: Identity, timeout: float | None) -> Connection:
    try:
        async with asyncio.timeout(timeout):
            return await pool.open(identity)
    except TimeoutError:
        raise
    except (Broken, OSError) as error:
        raise NotConnected(error) from error
