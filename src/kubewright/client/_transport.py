"""The transport: `Transport` sends a `Request` and returns a `Response` whose body can be streamed.

The client uses this protocol, so that an API server in this process can be used without sockets, and a test can fail a
single call. `kubewright.client._http` is the transport for real servers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from kubewright.redaction import Redacted

if TYPE_CHECKING:  # a program without streams does not need it
    from kubewright.http import ByteStream

__all__ = ["ConnectionLost", "Request", "Response", "ResponseBody", "TooLarge", "Transport", "Upgradable", "read_start"]


class Request(Redacted, msgspec.Struct, kw_only=True):
    """One request. `verb`, `resource`, `namespace` and `name` are those of RBAC, for errors, metrics and traces."""

    # The headers of a request at a server contain the caller's token.
    redacted = frozenset({"headers", "body", "before_send"})

    method: str
    path: str
    query: list[tuple[str, str]] = msgspec.field(default_factory=list)
    headers: MutableMapping[str, str] = msgspec.field(default_factory=dict)
    """`RequestHeaders` if a name occurs several times."""
    body: bytes | None = None
    timeout: float | None = None
    """Seconds for the whole exchange; for a stream, for the time between two pieces of it."""
    stream: bool = False
    upgrade: bool = False
    """Whether status 101 is a success: its headers ask for another protocol, and the response is an `Upgradable`."""
    verb: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    repeatable: bool = False
    """Whether sending it twice does no harm, even if the first one did arrive."""
    before_send: Callable[[], None] | None = None
    """Called immediately before the first byte is sent; if it raises, nothing is sent."""

    def __str__(self) -> str:
        if not self.resource:
            return f"{self.method} {self.path}"
        target = f"{self.namespace}/{self.name}" if self.namespace and self.name else self.name or self.namespace
        return f"{self.verb} {self.resource} {target}".rstrip()


class Response(Protocol):
    """A response. Read it to the end or close it; either frees the connection."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names are case-insensitive."""

    def warnings(self) -> list[str]:
        """Returns the values of the `Warning` headers."""

    async def read(self) -> bytes:
        """Returns the whole body."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives."""

    def close(self) -> None:
        """Closes the response without reading the rest of the body."""


@runtime_checkable
class Upgradable(Protocol):
    """A response that may have status 101."""

    def upgraded(self) -> ByteStream:
        """Returns the connection as a stream of bytes. Raises ConnectionError or `ConnectionLost` if it broke."""


class Transport(Protocol):
    """Sends requests. Raises `ConnectionLost` if there is no response, `TimeoutError` if it took too long."""

    async def send(self, request: Request) -> Response:
        """Sends one request and waits for the head of the response."""

    async def close(self) -> None:
        """Closes every connection."""


class ConnectionLost(Exception):
    """There is no complete response. `sent` is true if the server may have received the request.

    After a `final` one no request is retried: the client itself is closed.
    """

    def __init__(self, message: str, *, sent: bool, final: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.final = final


class TooLarge(ConnectionLost):
    """The response exceeds a limit of this client. It is not retried, because the result would be the same."""

    def __init__(self, message: str) -> None:
        super().__init__(message, sent=True, final=True)


class ResponseBody(AsyncIterator[bytes]):
    """The body of a response as it arrives. `aclose` closes the response, also if nothing of it was read.

    A generator would not: `aclose` of one that has not started runs none of its code.
    """

    def __init__(self, response: Response) -> None:
        self._response = response
        self._chunks = response.chunks()

    async def __anext__(self) -> bytes:
        return await anext(self._chunks)

    async def aclose(self) -> None:
        """Closes the response."""
        try:
            aclose = getattr(self._chunks, "aclose", None)
            if aclose is not None:
                await aclose()
        finally:
            self._response.close()


async def read_start(response: Response, size: int) -> bytes:
    """Returns the body, or its first `size` bytes if it is longer, and closes the response."""
    start = bytearray()
    try:
        async for chunk in response.chunks():
            start += chunk[: size - len(start)]
            if len(start) >= size:
                break
    finally:
        response.close()
    return bytes(start)
