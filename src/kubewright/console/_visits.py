"""`page`: what every page begins with."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import nicegui
from fastapi import Request
from nicegui import ui
from starlette.responses import PlainTextResponse, Response

from kubewright.console._door import PLACE, SESSION
from kubewright.console._kinds import Kind
from kubewright.console._sessions import Session
from kubewright.console._shelves import Shelf
from kubewright.console._viewers import Viewer

if TYPE_CHECKING:
    from kubewright.console._app import Console

__all__ = ["Visit", "page"]

logger = logging.getLogger("kubewright.console")

_BUILD_SECONDS: Final = 30.0
_LAST_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Visit:
    """Somebody looks at a page."""

    console: Console
    viewer: Viewer
    session: Session
    browser: nicegui.Client = field(default_factory=lambda: ui.context.client, repr=False)
    """The page in the browser; kept here, because tasks that a page starts do not know it."""

    def on_leave(self, callback: Callable[[], Any]) -> None:
        """Call this once, when the browser is gone for good; not when it only lost its connection for a moment."""
        self.browser.on_delete(callback)

    def answer_with(self, status: int) -> None:
        """Let the answer that brings the page have another HTTP status than 200. Too late once the page is there."""
        self.browser.status_code = status

    @property
    def contexts(self) -> Sequence[str]:
        """The contexts that this viewer may choose from; none unless he started the console."""
        return self.console.contexts.names if self.session.local and self.console.contexts is not None else ()

    def sign_out(self) -> None:
        """End the session, and with it all its pages: they go to the sign-in page."""
        self.console.sessions.end(self.session)
        self.console.first.audit.signed_out(self.session.viewer.name)

    def end_with_session(self) -> None:
        """Let the page end when its session does: when its viewer signs out, or is not known any more."""

        def end() -> None:
            self.browser.run_javascript("location.reload()")  # which leads to the sign-in page
            # Not at once: the browser still has to hear of it.
            asyncio.get_running_loop().call_later(_LAST_SECONDS, self._delete)

        self.session.on_end.append(end)
        self.on_leave(lambda: self.session.on_end.remove(end) if end in self.session.on_end else None)

    def _delete(self) -> None:
        if not self.browser.is_deleted:
            self.browser.delete()

    async def sees(self, kind: Kind, namespace: str = "") -> bool:
        """Whether the viewer may see objects of a kind, in a namespace or anywhere. Asked before a shelf is opened."""
        among = [namespace] if namespace else await self.console.all_namespaces()
        return bool(await self.viewer.sight(kind, among))

    async def shelf(self, kind: Kind) -> Shelf:
        """The objects of a kind, filled; held open until this visit ends."""
        shelf = await self.console.open_shelf(kind)
        self.on_leave(shelf.release)
        await shelf.filled()
        return shelf


def page(
    path: str, *, kept_seconds: float | None = None
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Awaitable[None]]]:
    """Serve a page under a path. The function gets a `Visit`, and the parameters of the path and of the query.

    Nobody comes here who is not signed in: the door is before it. What the function raises becomes an error state of
    the page, and never ends the server. `kept_seconds` is how long a browser may be away and find the page as it was:
    for those on which people write.
    """

    def decorate(function: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        signature = inspect.signature(function, eval_str=True)
        _visit, *others = signature.parameters.values()
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)

        @functools.wraps(function)
        async def build(request: Request, **parameters: Any) -> Response | None:
            if PLACE not in request.scope:
                ui.context.client.delete()
                return PlainTextResponse("There is no such file.\n", 404)
            console, viewer = request.scope[PLACE]
            visit = Visit(console, viewer, request.scope[SESSION])
            visit.end_with_session()
            try:
                await function(visit, **parameters)
            except Exception as error:
                # Not on top: the frame is made of pages, which are made with this module.
                from kubewright.console.pages._frame import failed

                failed(visit, error)
            return None

        build.__signature__ = signature.replace(parameters=[request, *others])  # type: ignore[attr-defined]
        return ui.page(path, response_timeout=_BUILD_SECONDS, reconnect_timeout=kept_seconds)(build)

    return decorate
