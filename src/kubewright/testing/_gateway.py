"""`Gateway`: an HTTP proxy for kube-apiserver that records every request, and can respond itself.

Unlike `Proxy`, it terminates TLS, so it sees the requests. It runs in its own thread, for plain and async callers.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self, TypeAlias, TypeVar

import msgspec

from kubewright.client import ConnectionLost, HttpOrigin, Request, RequestHeaders, ResponseBody
from kubewright.http import DropConnection, Server, ServerLimits, ServerRequest, ServerResponse
from kubewright.tasks import LoopThread

__all__ = ["Exchange", "Fault", "Gateway", "Refusal", "every"]

_Result = TypeVar("_Result")
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_LOST_BYTES: Final = 2**30
_LARGEST_BODY: Final = 2**24
_LIMITS: Final = ServerLimits(connections=1400)
# Headers of one connection, and those that are set again for the next one.
_HOP_BY_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade"})


@dataclass(slots=True)
class Exchange:
    """A request in the order of arrival, and its result."""

    number: int
    method: str
    path: str
    query: str
    agent: str
    status: int = 0
    """The status that the client got; 0 while the request runs, or if its connection was reset."""

    @property
    def writes(self) -> bool:
        """Whether it is a write, including those of leader election and events."""
        return self.method not in _READS

    @property
    def watches(self) -> bool:
        """Whether it opens a watch."""
        return "watch=true" in self.query


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response of the gateway itself. The server does not get the request."""

    status: int
    retry_after: int | None = None
    message: str = "refused by the gateway"


Fault: TypeAlias = Refusal | Literal["lose", "reset"] | None
"""The fault that hits a request. None: it passes. `lose`: the server processes it, and the response is dropped.
`reset`: it does not reach the server, and its connection is reset."""


class Gateway:
    """Listens on its own port and forwards requests to kube-apiserver.

    `fault` decides about each request, in the thread of the gateway; it may be replaced at any time. `exchanges` has
    every request since the start. `kubeconfig` uses the gateway, as the admin; a request with its own token is
    forwarded with only that token.
    """

    kubeconfig: Path

    def __init__(self, target: str, *, ca: Path, certificate: Path, key: Path, admin: tuple[Path, Path]) -> None:
        self.exchanges: list[Exchange] = []
        self.fault: Callable[[Exchange], Fault] | None = None
        self._target = target
        self._serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._serving.load_cert_chain(certificate, key)
        self._contexts = [ssl.create_default_context(cafile=str(ca)) for _ in ("admin", "anonymous")]
        self._contexts[0].load_cert_chain(*admin)
        self._thread = LoopThread("kubewright-gateway")
        self._thread.call(self._open())

    @property
    def url(self) -> str:
        """The URL of the gateway."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def writes(self) -> list[Exchange]:
        """The writes so far."""
        return [exchange for exchange in self.exchanges if exchange.writes]

    def cut(self) -> None:
        """Resets every open connection of clients, including watches. New ones are accepted."""
        self._thread.call(self._cut())

    def close(self) -> None:
        """Resets every connection and stops listening. Does nothing if it is already closed."""
        if not self._thread.closed:
            self._thread.call(self._close())
            self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _open(self) -> None:
        self._admin, self._anonymous = (
            HttpOrigin(self._target, tls=context, max_response_bytes=_MAX_LOST_BYTES) for context in self._contexts
        )
        # Cancels on disconnect, because a quiet watch would otherwise stay open on the server side.
        self._server = Server(
            self._handle, tls=self._serving, limits=_LIMITS, cancel_on_disconnect=True, drain_seconds=0
        )
        await self._server.__aenter__()
        self.port: int = self._server.port

    async def _cut(self) -> None:
        for connection in list(self._server.connections):
            connection.abort()

    async def _close(self) -> None:
        await self._cut()
        await self._server.__aexit__(None, None, None)
        # Canceled handlers may still run. Each releases its connection to the server before the origins are closed.
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
        await self._admin.close()
        await self._anonymous.close()

    async def _handle(self, request: ServerRequest) -> ServerResponse:
        agent = request.headers.get("User-Agent", "")
        exchange = Exchange(len(self.exchanges), request.method, request.path, request.query, agent)
        self.exchanges.append(exchange)
        fault = self.fault(exchange) if self.fault is not None else None
        body = await request.body(largest=_LARGEST_BODY)
        if isinstance(fault, Refusal):
            exchange.status = fault.status
            return _refused(fault)
        if fault == "reset":
            raise DropConnection
        try:
            return await self._forward(request, body, exchange, lose=fault == "lose")
        except (ConnectionLost, OSError):
            # The server is down or closed the connection: reset that of the client too.
            raise DropConnection from None

    async def _forward(self, request: ServerRequest, body: bytes, exchange: Exchange, *, lose: bool) -> ServerResponse:
        headers_out = RequestHeaders(pair for pair in request.headers.pairs() if pair[0] not in _HOP_BY_HOP)
        headers_out["Accept-Encoding"] = "identity"  # the client would decompress a compressed body here
        origin = self._anonymous if "Authorization" in request.headers else self._admin
        answer = await origin.send(
            Request(
                method=request.method,
                path=f"{request.path}?{request.query}" if request.query else request.path,
                headers=headers_out,
                body=body or None,
                stream=True,
                repeatable=request.method in _READS,
            )
        )
        if lose:
            await answer.read()
            raise DropConnection
        exchange.status = answer.status
        headers = [(name, value) for name, value in answer.headers.pairs() if name not in _HOP_BY_HOP]
        if "Content-Length" in answer.headers:
            headers.append(("Content-Length", answer.headers["Content-Length"]))
        return ServerResponse(answer.status, _ForwardedBody(answer), headers)


class _ForwardedBody(ResponseBody):
    """A forwarded body. If the server closes the connection early, so does the gateway."""

    async def __anext__(self) -> bytes:
        try:
            return await super().__anext__()
        except ConnectionLost:
            raise ConnectionResetError("the server closed the connection") from None


def every(number: int, fault: Fault) -> Callable[[Exchange], Fault]:
    """Returns a function that applies a fault to every n-th request."""
    count = itertools.count(1)
    return lambda exchange: fault if next(count) % number == 0 else None


def _refused(refusal: Refusal) -> ServerResponse:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": refusal.message,
        "code": refusal.status,
    }
    headers = [("Content-Type", "application/json")]
    if refusal.retry_after is not None:
        headers.append(("Retry-After", str(refusal.retry_after)))
    return ServerResponse(refusal.status, msgspec.json.encode(body), headers)
