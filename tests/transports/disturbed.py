"""Transports that disturb requests on their way to a server, for tests of failures at an exact request."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from kubewright.client import Request, Response, Transport

__all__ = ["Disturbed", "NoServer"]

Before = Callable[[Request], Response | Awaitable[Response | None] | None]


class NoServer:
    """A transport on which nothing may be sent. Each request fails the test."""

    async def send(self, request: Request) -> Response:
        raise AssertionError(f"unexpected request: {request}")

    async def close(self) -> None:
        """Nothing to close."""


class Disturbed:
    """A transport that calls `before` with each request, and forwards the request to `inner` if that returns None.

    `before` is a function or a coroutine function. It may wait, change the request, raise, or return the response
    itself. If `before` is an exception, each request raises it. A test may replace `before` for later requests; None
    forwards them all. Closing closes `inner`.
    """

    def __init__(self, inner: Transport, before: Before | Exception | None = None) -> None:
        self.inner = inner
        self.before = before

    async def send(self, request: Request) -> Response:
        if isinstance(self.before, Exception):
            raise self.before.with_traceback(None)  # otherwise its traceback grows with each request
        if self.before is not None:
            response = self.before(request)
            if inspect.isawaitable(response):
                response = await response
            if response is not None:
                return response
        return await self.inner.send(request)

    async def close(self) -> None:
        await self.inner.close()
