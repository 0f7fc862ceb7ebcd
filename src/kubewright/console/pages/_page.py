"""`page`: the decorator that registers a page."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final

from fastapi import Request
from nicegui import ui
from starlette.responses import PlainTextResponse, Response

from kubewright.console._scope import BACKEND, SESSION
from kubewright.console.pages._context import PageContext
from kubewright.console.pages.layout import draw_error_page

__all__ = ["page"]

_BUILD_SECONDS: Final = 30.0


def page(
    path: str, *, reconnect_seconds: float | None = None
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Awaitable[None]]]:
    """Serves a page under a path. The function takes a `PageContext`, and the parameters of path and query.

    Only authenticated requests reach a page. An exception of the function is shown as a problem and never stops the
    server. `reconnect_seconds` is how long a disconnected browser can resume the page, for pages with input.
    """

    def decorate(function: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        signature = inspect.signature(function, eval_str=True)
        _ctx, *others = signature.parameters.values()
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)

        @functools.wraps(function)
        async def build(request: Request, **parameters: Any) -> Response | None:
            if BACKEND not in request.scope:
                ui.context.client.delete()
                return PlainTextResponse("File not found.\n", 404)
            backend, viewer = request.scope[BACKEND]
            ctx = PageContext(backend, viewer, request.scope[SESSION])
            ctx.close_with_session()
            try:
                await function(ctx, **parameters)
            except Exception as error:
                draw_error_page(ctx, error)
            return None

        build.__signature__ = signature.replace(parameters=[request, *others])  # type: ignore[attr-defined]
        return ui.page(path, language="en-US", response_timeout=_BUILD_SECONDS, reconnect_timeout=reconnect_seconds)(
            build
        )

    return decorate
