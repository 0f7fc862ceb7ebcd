"""`ServerRequest` and `ServerResponse`, and the ways in which a request ends without a regular response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from typing import Any, Protocol

import msgspec

from kubewright.http._byte_streams import ByteStream
from kubewright.http._headers import Headers

__all__ = [
    "BodySource",
    "BodyTimeout",
    "BodyTooLarge",
    "DropConnection",
    "MalformedBody",
    "ServerRequest",
    "ServerResponse",
    "TooManyHeaders",
    "plain_response",
]


class BodyTooLarge(Exception):
    """The body of a request has more bytes than the handler accepts. Unhandled, it becomes 413."""


class BodyTimeout(Exception):
    """The body of a request did not arrive within `ServerLimits.body_seconds`. Unhandled, it becomes 408."""


class MalformedBody(Exception):
    """The body of a request is not framed as HTTP demands. Unhandled, it becomes 400."""


class TooManyHeaders(Exception):
    """The headers of a request have too many bytes. It becomes 431."""


class DropConnection(Exception):
    """Raised by a handler to reset the connection without a response."""


class BodySource(Protocol):
    """The connection, as a request sees it."""

    async def next_piece(self, request: ServerRequest) -> bytes:
        """Returns the next bytes of this request's body, and no bytes at its end."""


class ServerRequest:
    """One request, from the end of its headers on; its body is read on demand.

    A client that goes away raises ConnectionError in the handler that reads the body.
    """

    __slots__ = (
        "_source",
        "arrived",
        "certificate",
        "certificate_bytes",
        "complete",
        "content_length",
        "expects_continue",
        "headers",
        "keep_alive",
        "method",
        "path",
        "peer",
        "peer_address",
        "query",
        "received",
        "upgrades",
        "version",
    )

    def __init__(
        self, source: BodySource, *, method: str, target: bytes, version: str, headers: Headers, keep_alive: bool
    ) -> None:
        self.method = method
        self.path, _, self.query = _origin_form(target).partition("?")
        """Path and query string, percent-encoded as they were sent."""
        self.version = version
        self.headers = headers
        self.keep_alive = keep_alive
        self.content_length = int(headers.get("Content-Length", 0))
        """The announced size; 0 for a chunked body."""
        self.peer = ""
        """The client's address, without the port."""
        self.peer_address: Hashable = None
        """The client's address as the socket has it: what `getsockname` returns at the other end."""
        self.certificate: Any = None
        """The client's verified certificate as `ssl.SSLSocket.getpeercert` returns it; None without one."""
        self.certificate_bytes = b""
        """The client's certificate in DER."""
        self.arrived: list[bytes] = []
        """Pieces of the body that have arrived and have not been read."""
        self.received = 0
        """Bytes of the body that have arrived, which the server counts until the response is sent."""
        self.complete = False
        """Whether the whole body has arrived."""
        self.expects_continue = headers.get("Expect", "").lower() == "100-continue" and version == "1.1"
        self.upgrades = False
        """Whether the client asks for another protocol, so that a response may have an `upgrade`."""
        self._source = source

    def certificate_names(self) -> tuple[str, tuple[str, ...]]:
        """Returns the user and the groups of the client's certificate: its common name and its organizations.

        Both are empty without a certificate. Of several common names the last one counts, as in Go.
        """
        names = [pair for part in (self.certificate or {}).get("subject", ()) for pair in part]
        user = next((value for name, value in reversed(names) if name == "commonName"), "")
        return user, tuple(value for name, value in names if name == "organizationName")

    async def body(self, *, largest: int) -> bytes:
        """Returns the whole body. Raises BodyTooLarge for more than `largest` bytes, and BodyTimeout."""
        if self.content_length > largest:
            raise BodyTooLarge(f"the body has more than {largest} bytes")
        parts: list[bytes] = []
        size = 0
        async for piece in self.pieces():
            size += len(piece)
            if size > largest:
                raise BodyTooLarge(f"the body has more than {largest} bytes")
            parts.append(piece)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives. Raises BodyTimeout."""
        while piece := await self._source.next_piece(self):
            yield piece


class ServerResponse(msgspec.Struct):
    """The answer to one request.

    A body that is an iterator is streamed, in chunks unless `headers` has a Content-Length; the iterator is closed when
    the client goes away. `close` ends the connection after the response.

    With status 101, `upgrade` is called with the connection as a stream of bytes after the head is sent. The connection
    closes when it returns.
    """

    status: int = 200
    body: bytes | AsyncIterator[bytes] = b""
    headers: Sequence[tuple[str, str]] = ()
    close: bool = False
    upgrade: Callable[[ByteStream], Awaitable[None]] | None = None


def plain_response(status: int, message: str) -> ServerResponse:
    """Returns an error as plain text; one that a malformed or late request causes closes the connection."""
    headers = [("Content-Type", "text/plain; charset=utf-8")]
    return ServerResponse(status, f"{message}\n".encode(), headers, close=status in (400, 408, 413, 431))


def _origin_form(target: bytes) -> str:
    """Returns path and query of a request target, which a proxy's client sends as a whole URL."""
    text = target.decode("ascii", "replace")
    if text.startswith("/"):
        return text
    _, separator, rest = text.partition("://")
    return f"/{rest.partition('/')[2]}" if separator else text
