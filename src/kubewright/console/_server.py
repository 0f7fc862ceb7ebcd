"""The server: NiceGUI inside an application of ours, in the caller's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI
from nicegui import ui
from starlette.types import Receive, Scope, Send

from kubewright.console import pages
from kubewright.console._visits import CONSOLE

if TYPE_CHECKING:
    from kubewright.console._app import Console

__all__ = ["serve"]


class _Server(uvicorn.Server):
    """Signals are the business of whoever runs the event loop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serve(console: Console, host: str, port: int) -> AsyncIterator[str]:
    """Serve until the block ends. Gives the address."""
    pages.register()
    application = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(application, title="Kubewright", dark=None, show_welcome_message=False)

    async def with_console(scope: Scope, receive: Receive, send: Send) -> None:
        scope[CONSOLE] = console
        await application(scope, receive, send)

    listener = socket.create_server((host, port))
    server = _Server(uvicorn.Config(with_console, log_config=None, loop="none", lifespan="on"))
    task = asyncio.create_task(server.serve([listener]))
    try:
        while not server.started and not task.done():  # noqa: ASYNC110  # uvicorn has no event for it
            await asyncio.sleep(0.01)
        yield f"http://{host}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
