"""`CompressionMiddleware`: compresses responses, and removes validators that belong to the uncompressed ones."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CompressionMiddleware"]

_VALIDATORS = ("etag", "last-modified", "accept-ranges")


class CompressionMiddleware:
    """ASGI middleware in front of all others.

    A file has one ETag, whether it is compressed or not. A browser whose download was canceled requests the rest with
    `Range` and that ETag, and would append uncompressed bytes to the compressed beginning. Without validators, it
    downloads the whole file again.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = GZipMiddleware(application, minimum_size=1_000, compresslevel=4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers the request."""

        async def passed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(message["headers"]))
                if "content-encoding" in headers:
                    for name in _VALIDATORS:
                        del headers[name]
                    message = {**message, "headers": headers.raw}
            await send(message)

        await self._application(scope, receive, passed)
