"""`page`: what every page begins with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request
from nicegui import ui

from kubewright.console._viewers import Viewer

if TYPE_CHECKING:
    from kubewright.console._app import Console

__all__ = ["CONSOLE", "Visit", "page"]

CONSOLE = "kubewright.console"
"""Where a request's scope has the console."""


@dataclass(frozen=True)
class Visit:
    """Somebody looks at a page."""

    console: Console
    viewer: Viewer

    def on_leave(self, callback: Callable[[], Any]) -> None:
        """Call this when the browser is gone."""
        ui.context.client.on_disconnect(callback)


def page(path: str) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Awaitable[None]]]:
    """Serve a page under a path. The function gets a `Visit`, and the parameters of the path and of the query."""

    def decorate(function: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        signature = inspect.signature(function, eval_str=True)
        _visit, *others = signature.parameters.values()
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)

        @functools.wraps(function)
        async def build(request: Request, **parameters: Any) -> None:
            console: Console = request.scope[CONSOLE]
            await function(Visit(console, console.viewer()), **parameters)

        build.__signature__ = signature.replace(parameters=[request, *others])  # type: ignore[attr-defined]
        return ui.page(path)(build)

    return decorate
