"""`AssetMiddleware`: NiceGUI's own files, compressed once, and cached by browsers."""

from __future__ import annotations

import asyncio
import gzip
import re
from typing import Final, NamedTuple

import nicegui
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubewright.lru import LRUMemory

__all__ = ["AssetMiddleware"]

# These paths contain NiceGUI's version, and its wheel never changes. The console's own components, which are next to
# them, can change with a release of Kubewright.
_ASSET: Final = re.compile(rf"/_nicegui/{re.escape(nicegui.__version__)}/(?:static|libraries|esm)/")
_FOREVER: Final = "public, max-age=31536000, immutable"
_COMPRESSED: Final = ("text/javascript", "application/javascript", "text/css")
_MAX_ASSETS: Final = 100
_MAX_CACHED_BYTES: Final = 8_000_000


class _Asset(NamedTuple):
    headers: list[tuple[bytes, bytes]]
    body: bytes


class AssetMiddleware:
    """ASGI middleware in front of NiceGUI.

    A first visit needs more than 2 MB of scripts. Compressing them for each visitor would delay the operator that
    shares the event loop, so scripts and style sheets are compressed in a thread, once, and answered from memory.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application
        self._known: LRUMemory[str, _Asset] = LRUMemory(
            _MAX_ASSETS, max_weight=_MAX_CACHED_BYTES, weigh=lambda asset: len(asset.body)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers the request, or passes it on."""
        path = _path(scope)
        if not _ASSET.match(path):
            await self._application(scope, receive, send)
            return
        asset = self._known.get(path) if _wants_whole_file(Headers(scope=scope)) else None
        if asset is not None:
            await _answer(asset, send)
            return
        response = _Response(send, keep=_wants_whole_file(Headers(scope=scope)))
        await self._application(scope, receive, response.send)
        if response.kept is not None:
            asset = await asyncio.to_thread(_compress, *response.kept)
            self._known.put(path, asset)
            await _answer(asset, send)


def _path(scope: Scope) -> str:
    path: str = scope["path"] if scope["type"] == "http" and scope["method"] == "GET" else ""
    return path.removeprefix(scope.get("root_path", ""))  # files are the same in all contexts


def _wants_whole_file(headers: Headers) -> bool:
    conditional = any(name in headers for name in ("if-none-match", "if-modified-since", "range"))
    return not conditional and "gzip" in headers.get("accept-encoding", "")


def _compress(headers: list[tuple[bytes, bytes]], body: bytes) -> _Asset:
    compressed = gzip.compress(body, 9, mtime=0)
    sent = MutableHeaders(raw=headers)
    sent["content-encoding"] = "gzip"
    sent["content-length"] = str(len(compressed))
    sent.add_vary_header("Accept-Encoding")
    return _Asset(sent.raw, compressed)


async def _answer(asset: _Asset, send: Send) -> None:
    # A copy of the headers: the layers outside add their own.
    await send({"type": "http.response.start", "status": 200, "headers": [*asset.headers]})
    await send({"type": "http.response.body", "body": asset.body})


class _Response:
    """A response of NiceGUI. Passes it on, or keeps it if it can be compressed.

    If the browser disconnects early, NiceGUI ends the response as if it were complete. Only the length shows that.
    """

    def __init__(self, send: Send, *, keep: bool) -> None:
        self._send = send
        self._keep = keep
        self._headers: list[tuple[bytes, bytes]] | None = None
        self._length = 0
        self._body = b""
        self.kept: tuple[list[tuple[bytes, bytes]], bytes] | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message["headers"]))
            if message["status"] in (200, 206, 304):
                headers["cache-control"] = _FOREVER
            script = headers.get("content-type", "").startswith(_COMPRESSED)
            if self._keep and message["status"] == 200 and script and "content-length" in headers:
                self._headers = headers.raw
                self._length = int(headers["content-length"])
                return
            message = {**message, "headers": headers.raw}
        elif message["type"] == "http.response.body" and self._headers is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            if len(self._body) == self._length:
                self.kept = self._headers, self._body
                return
            await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})
            message = {**message, "body": self._body}
        await self._send(message)
