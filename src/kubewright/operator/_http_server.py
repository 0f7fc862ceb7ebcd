"""A small HTTP server for pages that programs read: health, metrics.

It answers GET and HEAD of known paths, keeps nothing and logs nothing. It listens where it is told, and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

import msgspec

from kubewright._aiohttp import roots_on_first_use
from kubewright._discreet import Discreet
from kubewright.operator._values import split_address

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["Asked", "Handler", "HttpServer", "Page", "Query"]

logger = logging.getLogger("kubewright.operator")

Query: TypeAlias = Mapping[str, list[str]]
"""The values of each parameter of a request; a parameter without a value has one that is empty."""

_LAST_SECONDS = 1.0


class Page(msgspec.Struct, frozen=True):
    """An answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class Asked(Discreet, msgspec.Struct, frozen=True):
    """A question."""

    unshown = frozenset({"headers"})

    below: str
    """The path below the one that the page is registered for: "" or "/ping"."""
    query: Query = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Names compare without case."""


Handler: TypeAlias = Callable[[Asked], Awaitable[Page]]
"""Makes a page."""


class HttpServer:
    """Serves some paths at one address, from `async with` to its end.

    A path is registered without a slash at its end and stands for those below it as well, of which the longest wins.
    Entering raises `OSError` when the address cannot be listened at, with the address in its text.
    """

    def __init__(self, bind: str, paths: Mapping[str, Handler]) -> None:
        self.bind = bind
        self._host, self._port = split_address(bind)
        self._paths = dict(sorted(paths.items(), key=lambda item: -len(item[0])))
        self._runner: web.ServerRunner | None = None

    @property
    def port(self) -> int:
        """The port that it listens at, also when port 0 let the system choose; 0 while it does not listen."""
        addresses = self._runner.addresses if self._runner is not None else []
        return int(addresses[0][1]) if addresses else 0

    async def __aenter__(self) -> Self:
        with roots_on_first_use():
            from aiohttp import web

        # The access log is the server's to leave out: the runner takes the argument and does nothing with it.
        server = web.Server(self._answer, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=_LAST_SECONDS)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._host, self._port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise OSError(error.errno, f"cannot listen at {self.bind}: {error.strerror}") from None
        logger.info("serving %s at %s:%d", ", ".join(sorted(self._paths)), self._host, self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        page = await self._page(request.method, request.path, request.query, request.headers)
        headers = {
            "Content-Type": page.content_type,
            "Cache-Control": "no-cache, private",
            "X-Content-Type-Options": "nosniff",
            **page.headers,
        }
        return web.Response(status=page.status, body=page.body, headers=headers)

    async def _page(self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Page:
        if method not in ("GET", "HEAD"):
            return Page(b"only GET and HEAD\n", 405, headers={"Allow": "GET, HEAD"})
        parameters: dict[str, list[str]] = {}
        for name, value in query.items():
            parameters.setdefault(name, []).append(value)
        for known, handler in self._paths.items():
            if path == known or path.startswith(f"{known}/"):
                try:
                    return await handler(Asked(path[len(known) :].rstrip("/"), parameters, headers))
                except Exception:
                    logger.exception("the page %s could not be made", known)
                    return Page(b"internal server error\n", 500)
        return Page(b"not found\n", 404)
