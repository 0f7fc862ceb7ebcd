"""A small HTTP server for pages that programs read: health, metrics.

It responds to GET and HEAD of known paths, stores nothing, and does not log requests.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeAlias
from urllib.parse import parse_qsl, unquote

import msgspec

from kubewright.operator.settings import split_address
from kubewright.redaction import Redacted

if TYPE_CHECKING:
    from kubewright.http import Server, ServerRequest, ServerResponse

__all__ = ["CONNECTIONS", "Handler", "HttpServer", "Page", "PageRequest", "Query"]

logger = logging.getLogger("kubewright.operator")

Query: TypeAlias = Mapping[str, list[str]]
"""The values of each query parameter; a parameter without a value has the empty string."""

CONNECTIONS: Final = 128  # probes and scrapes need a handful; a flood costs at most 16 MB
_SILENT_SECONDS: Final = (
    0.05  # with so few connections, the listen queue of the kernel is through within a probe's second
)
_DRAIN_SECONDS: Final = 1.0
_MOST_PARAMETERS: Final = 100


class Page(msgspec.Struct, frozen=True):
    """A response."""

    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class PageRequest(Redacted, msgspec.Struct, frozen=True):
    """A request for a page."""

    redacted = frozenset({"headers"})

    below: str
    """The path below the registered path of the page: "" or "/ping"."""
    query: Query = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Names are case-insensitive."""


Handler: TypeAlias = Callable[[PageRequest], Awaitable[Page]]
"""Returns the page for a request."""


class HttpServer:
    """Serves some paths at one address, until the end of `async with`.

    A path is registered without a trailing slash and includes all paths below it; the longest match wins. Entering
    raises `OSError` with the address in its message if the server cannot listen there.
    """

    def __init__(
        self,
        bind: str,
        paths: Mapping[str, Handler],
        *,
        tls: ssl.SSLContext | None = None,
        certificate: Callable[[], bytes] | None = None,
    ) -> None:
        self.bind = bind
        self._host, self._port = split_address(bind)
        self._paths = dict(sorted(paths.items(), key=lambda item: -len(item[0])))
        self._tls = tls
        self._certificate = certificate
        self._server: Server | None = None

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The hosts and ports that the server listens on; empty if it does not listen."""
        return self._server.addresses if self._server is not None else []

    @property
    def port(self) -> int:
        """The port that the server listens on, chosen by the system for port 0; 0 if it does not listen."""
        return self.addresses[0][1] if self.addresses else 0

    @property
    def certificate(self) -> bytes | None:
        """The certificate that is served now, in PEM format, for clients that verify exactly it; None for plain HTTP.

        A self-signed one changes with each start, and after two thirds of its life.
        """
        return self._certificate() if self._certificate is not None else None

    async def __aenter__(self) -> Self:
        from kubewright.http import Server, ServerLimits  # not needed by an operator without pages

        server = Server(
            self._answer,
            host=self._host,
            port=self._port,
            tls=self._tls,
            limits=ServerLimits(connections=CONNECTIONS, body_seconds=10.0, silent_seconds=_SILENT_SECONDS),
            drain_seconds=_DRAIN_SECONDS,
        )
        try:
            self._server = await server.__aenter__()
        except OSError as error:
            raise OSError(error.errno, f"cannot listen at {self.bind}: {error.strerror}") from None
        logger.info("serving %s at %s:%d", ", ".join(sorted(self._paths)), self._host, self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            await self._server.__aexit__(kind, error, trace)
            self._server = None

    async def _answer(self, request: ServerRequest) -> ServerResponse:
        from kubewright.http import ServerResponse

        try:
            query = parse_qsl(request.query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
        except ValueError:
            page = Page(b"too many query parameters\n", 400)
        else:
            page = await self._page(request.method, unquote(request.path), query, request.headers)
        headers = {
            "Content-Type": page.content_type,
            "Cache-Control": "no-cache, private",
            "X-Content-Type-Options": "nosniff",
            **page.headers,
        }
        return ServerResponse(page.status, page.body, list(headers.items()))

    async def _page(self, method: str, path: str, query: list[tuple[str, str]], headers: Mapping[str, str]) -> Page:
        if method not in ("GET", "HEAD"):
            return Page(b"only GET and HEAD\n", 405, headers={"Allow": "GET, HEAD"})
        parameters: dict[str, list[str]] = {}
        for name, value in query:
            parameters.setdefault(name, []).append(value)
        for known, handler in self._paths.items():
            if path == known or path.startswith(f"{known}/"):
                try:
                    return await handler(PageRequest(path[len(known) :].rstrip("/"), parameters, headers))
                except Exception:
                    logger.exception("page %s raised an exception", known)
                    return Page(b"internal server error\n", 500)
        return Page(b"not found\n", 404)
