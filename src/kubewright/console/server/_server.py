"""The server: NiceGUI behind the middleware, in the caller's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Collection, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import nicegui
import uvicorn
from fastapi import FastAPI
from nicegui import Client as Page
from nicegui import app, background_tasks, ui
from starlette.responses import FileResponse

from kubewright.clock import Clock
from kubewright.console import pages
from kubewright.console.server._assets import AssetMiddleware
from kubewright.console.server._authentication import AuthenticationMiddleware
from kubewright.console.server._compression import CompressionMiddleware
from kubewright.console.server._connections import Connections
from kubewright.console.server._handler_signatures import remember_handler_signatures
from kubewright.console.server._listener import accepting
from kubewright.console.server._open_pages import HeadMiddleware, guard_socket_events, owner_of
from kubewright.console.server._security import AllowedHosts, SecurityMiddleware

if TYPE_CHECKING:
    from kubewright.console._backend import Backend

__all__ = ["serve"]

logger = logging.getLogger("kubewright.console")

_ICON: Final = Path(nicegui.__file__).parent / "static" / "favicon.ico"
_BACKLOG: Final = 1024  # with less, clients in a burst wait seconds before they retransmit
_SWEEP_SECONDS: Final = 5.0
_LAST_SECONDS: Final = 2
_RENEW_SECONDS: Final = 60.0


class _Server(uvicorn.Server):
    """A server that leaves signal handling to the owner of the event loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@cache
def _application() -> FastAPI:
    """Creates the NiceGUI application, which is a singleton of the process."""
    # Registered before the pages: the last page matches every path, and NiceGUI would add this route later.
    app.add_route("/favicon.ico", lambda _: FileResponse(_ICON))
    # Quasar's bar for requests has no accessible name, and the console's pages show their own progress.
    app.config.quasar_config["loadingBar"] = {"skipHijack": True}
    pages.register()
    application = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    # The outermost layer compresses, because SecurityMiddleware must read the pages.
    ui.run_with(
        application,
        title="Kubewright",
        dark=None,
        show_welcome_message=False,
        gzip_middleware_factory=None,
        tailwind=False,  # a sixth of a page's cost in the browser, for the few rules in base.css
        # A slow browser has not disconnected. With the default of three seconds, users lost their input.
        reconnect_timeout=15.0,
    )
    guard_socket_events()
    remember_handler_signatures()
    return application


@contextlib.asynccontextmanager
async def serve(
    console: Backend,
    host: str,
    port: int,
    *,
    urls: Collection[str] = (),
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    trusted_proxies: Collection[str] = (),
) -> AsyncIterator[str]:
    """Serves until the block ends. Yields the URL. Raises `OSError` if it cannot listen."""
    listener = _listener(host, port)
    names = AllowedHosts(urls, [] if host in ("0.0.0.0", "::", "") else [host])  # noqa: S104  # wildcards are not host names
    door = AuthenticationMiddleware(HeadMiddleware(AssetMiddleware(_application())), console, console.sessions)
    guard = SecurityMiddleware(door, names, secure=certificate is not None, trusted_proxies=trusted_proxies)
    limits = console.limits
    config = uvicorn.Config(
        CompressionMiddleware(guard),
        log_config=None,
        log_level="warning",
        access_log=False,  # paths contain object names
        loop="none",
        lifespan="on",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_LAST_SECONDS,
        timeout_keep_alive=int(limits.idle_seconds),
        ws="websockets-sansio",  # "auto" is a deprecated implementation in releases of uvicorn before 0.50
        ws_max_size=limits.body_bytes,
        ws_per_message_deflate=False,  # uvicorn queues all messages of a chunk, and compressed ones can be huge
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve([]), name="console server")
    sweeping = asyncio.create_task(_sweep(console), name="console session expiry")
    renewing = asyncio.create_task(_renew(config, console.clock), name="console certificate renewal")
    try:
        while not server.started and not task.done():  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.01)
        if task.done():
            await task
            raise RuntimeError("the console's server stopped during startup; see the log for the reason")
        shown = f"[{host}]" if ":" in host else host
        url = f"{'https' if certificate else 'http'}://{shown}:{listener.getsockname()[1]}"
        async with accepting(server, listener, Connections(limits, console.clock), console.clock):
            yield url
    finally:
        listener.close()
        sweeping.cancel()
        renewing.cancel()
        server.should_exit = True
        for page in [*Page.instances.values()]:
            pages.delete_page(page)  # otherwise the server would wait for the browsers to leave
        await task
        await background_tasks.teardown()  # tasks of pages must end before the client is closed


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        # asyncio sets it only for sockets from getaddrinfo. Accepted sockets inherit it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        # `create_server` repeats the address in `strerror`. `os.strerror` does not know the numbers of a resolver.
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise OSError(error.errno, f"cannot listen at {host}:{port}: {reason}") from None


async def _renew(config: uvicorn.Config, clock: Clock) -> None:
    """Reloads the certificate when its file changes, for example after cert-manager renewed it."""
    if config.ssl_certfile is None:
        return
    files = [Path(file) for file in (config.ssl_certfile, config.ssl_keyfile) if file is not None]
    seen = [file.stat().st_mtime_ns for file in files]
    while True:
        await clock.sleep(_RENEW_SECONDS)
        try:
            found = [file.stat().st_mtime_ns for file in files]
            if found != seen and config.ssl is not None:
                config.ssl.load_cert_chain(*map(str, files))
                seen = found
                logger.info("the console serves the renewed certificate of %s", files[0])
        except OSError as error:  # includes ssl.SSLError: only one file of the pair is written yet
            logger.warning("cannot read the renewed certificate of the console, %s: %s; retrying", files[0], error)


async def _sweep(console: Backend) -> None:
    """Ends expired sessions. An open page keeps its session alive."""
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        for page in [*Page.instances.values()]:
            session = owner_of(page)
            if session is not None and page.has_socket_connection:
                console.sessions.touch(session)
        console.sessions.sweep()
