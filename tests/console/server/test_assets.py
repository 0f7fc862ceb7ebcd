"""NiceGUI's files: compressed once, and cached by browsers."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import nicegui
import pytest
from starlette.datastructures import Headers
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubewright.console.server import AssetMiddleware, CompressionMiddleware

FOREVER = "public, max-age=31536000, immutable"
FILES = f"/_nicegui/{nicegui.__version__}"
SCRIPT = "const value = 1;\n" * 1_000


class Files:
    """An application that serves every path as a script, except those that contain "none"."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.requests.append(scope["path"])
        missing = "none" in scope["path"]
        status = 404 if missing else 304 if "if-none-match" in Headers(scope=scope) else 200
        kind = "font/woff2" if scope["path"].endswith(".woff2") else "text/javascript"
        await Response(SCRIPT if status == 200 else "", status, media_type=kind)(scope, receive, send)


async def get(application: ASGIApp, path: str, *, root: str = "", **headers: str) -> tuple[int, Headers, bytes]:
    """Requests a path, and returns status, headers and body."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return await asyncio.Future()  # the browser stays connected

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": root + path, "root_path": root, "headers": raw}
    await application(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], Headers(raw=sent[0]["headers"]), body


async def test_compresses_each_script_once_for_all_contexts() -> None:
    files = Files()
    assets = AssetMiddleware(files)
    for root in ("", "", "/contexts/other"):
        status, headers, body = await get(assets, f"{FILES}/static/vue.js", root=root, accept_encoding="gzip, br")
        assert (status, headers["content-encoding"], headers["cache-control"]) == (200, "gzip", FOREVER)
        assert (headers["vary"], headers["content-length"]) == ("Accept-Encoding", str(len(body)))
        assert gzip.decompress(body).decode() == SCRIPT
    assert len(files.requests) == 1


async def test_passes_on_requests_that_need_another_response() -> None:
    files = Files()
    assets = AssetMiddleware(files)
    path = f"{FILES}/esm/aggrid/index.js"
    await get(assets, path, accept_encoding="gzip")
    status, headers, body = await get(assets, path)
    assert (status, "content-encoding" in headers, body.decode()) == (200, False, SCRIPT)
    status, headers, body = await get(assets, path, accept_encoding="gzip", if_none_match='"a"')
    assert (status, headers["cache-control"], body) == (304, FOREVER, b"")
    status, headers, body = await get(assets, f"{FILES}/static/a.woff2", accept_encoding="gzip")
    assert (status, headers["cache-control"], "content-encoding" in headers) == (200, FOREVER, False)
    assert len(files.requests) == 4


async def test_missing_files_are_not_cached() -> None:
    files = Files()
    assets = AssetMiddleware(files)
    for _ in range(2):
        status, headers, _ = await get(assets, f"{FILES}/static/none.js", accept_encoding="gzip")
        assert (status, "cache-control" in headers) == (404, False)
    assert len(files.requests) == 2


async def test_does_not_cache_scripts_of_disconnected_browsers(tmp_path: Path) -> None:
    """A first visitor who leaves the page early must not break the console for all others."""
    file = tmp_path / "vue.js"
    file.write_text(SCRIPT)

    async def files(scope: Scope, receive: Receive, send: Send) -> None:
        await FileResponse(file)(scope, receive, send)

    async def unchanged(request: Request, following: RequestResponseEndpoint) -> Response:
        return await following(request)

    async def left() -> Message:
        return {"type": "http.disconnect"}

    async def ignored(message: Message) -> None:
        """The connection is closed."""

    assets = AssetMiddleware(BaseHTTPMiddleware(BaseHTTPMiddleware(files, unchanged), unchanged))  # as in NiceGUI
    headers = [(b"accept-encoding", b"gzip")]
    path = f"{FILES}/static/vue.js"
    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "headers": headers}
    await assets(scope, left, ignored)
    _, _, body = await get(assets, path, accept_encoding="gzip")
    assert gzip.decompress(body).decode() == SCRIPT


async def test_files_that_change_with_a_release_are_not_cached_indefinitely() -> None:
    files = Files()
    assets = AssetMiddleware(files)
    for path in (f"{FILES}/components/shell.js", "/_nicegui/0.0.1/static/vue.js", "/kinds/core/pods"):
        _, headers, body = await get(assets, path, accept_encoding="gzip")
        assert ("cache-control" in headers, body.decode()) == (False, SCRIPT)


@pytest.mark.parametrize("path", [f"{FILES}/static/vue.js", "/_nicegui/0.0.1/static/vue.js"])
async def test_does_not_resume_compressed_file_with_uncompressed_bytes(tmp_path: Path, path: str) -> None:
    file = tmp_path / "vue.js"
    file.write_text(SCRIPT)

    async def files(scope: Scope, receive: Receive, send: Send) -> None:
        await FileResponse(file)(scope, receive, send)

    application = CompressionMiddleware(AssetMiddleware(files))
    status, headers, body = await get(application, path, accept_encoding="gzip")
    assert (status, gzip.decompress(body).decode()) == (200, SCRIPT)
    assert headers["content-encoding"] == "gzip"
    assert not {"etag", "last-modified", "accept-ranges"} & set(headers), "a browser would request the rest"
    _, headers, body = await get(application, path)
    assert "etag" in headers
    assert body.decode() == SCRIPT
