"""The pages that are open: whose each is, and what is answered without leaving one behind.

A page is a connection and some memory in this process (NiceGUI's `Client`), from its request until its browser is gone.
"""

from __future__ import annotations

from typing import Final

from nicegui import Client as Page
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubewright.console._door import SESSION
from kubewright.console._sessions import Session

__all__ = ["Heads", "owner_of", "pages_of"]

_ASKED: Final = "kubewright.head"


def owner_of(page: Page) -> Session | None:
    """The session that a page was made for."""
    try:
        session: Session | None = page.request.scope.get(SESSION)
    except RuntimeError:  # it has no request
        return None
    return session


def pages_of(viewer: str) -> list[Page]:
    """The pages that somebody has open, by the name that the API server has for him, the oldest first."""
    owned = ((page, owner_of(page)) for page in [*Page.instances.values()])
    return [page for page, owner in owned if owner is not None and owner.viewer.name == viewer]


class Heads:
    """An ASGI application around another one: HEAD is GET without a body, and nobody comes back for its page.

    The server itself leaves the body away: it knows what was asked for.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, as GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._application(scope, receive, send)
            return
        asked = object()

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":  # so the page is made
                _forget(asked)
            await send(message)

        await self._application({**scope, "method": "GET", _ASKED: asked}, receive, answered)


def _forget(asked: object) -> None:
    for page in [*Page.instances.values()]:
        if owner_of(page) is not None and page.request.scope.get(_ASKED) is asked:
            page.delete()
