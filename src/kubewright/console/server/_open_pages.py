"""The pages that are open: whose each is, how many somebody may have, and who may send to which.

A page is a connection and some memory in this process (NiceGUI's `Client`), from its request until its browser is gone.
NiceGUI takes what a web socket sends for any page whose id it names, so it is asked here first whose page that is.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import nicegui
from nicegui import Client as Page
from nicegui import core
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubewright.console._scope import SESSION
from kubewright.console.access import Session

__all__ = [
    "KNOWN_EVENTS",
    "HeadMiddleware",
    "guard_socket_events",
    "guarded_handlers",
    "has_page_room",
    "has_socket_room",
    "may_connect",
    "open_pages_of",
    "owner_of",
]

logger = logging.getLogger("kubewright.console")

_OF_THE_SERVER: Final = frozenset({"connect", "disconnect"})  # raised by socket.io itself, not sent by a browser
_OF_A_PAGE: Final = frozenset({"event", "javascript_response", "ack", "log"})
_HANDSHAKE: Final = "handshake"
KNOWN_EVENTS: Final = _OF_THE_SERVER | _OF_A_PAGE | {_HANDSHAKE}
"""The socket events of NiceGUI that pass the guard. Every other event is dropped."""

_ASKED: Final = "kubewright.head"


def owner_of(page: Page) -> Session | None:
    """The session that a page was made for."""
    try:
        session: Session | None = page.request.scope.get(SESSION)
    except RuntimeError:  # it has no request
        return None
    return session


def open_pages_of(viewer: str) -> list[Page]:
    """The pages that somebody has open, by the name that the API server has for him, the oldest first."""
    owned = ((page, owner_of(page)) for page in [*Page.instances.values()])
    return [page for page, owner in owned if owner is not None and owner.viewer.name == viewer]


def has_page_room(viewer: str, at_most: int) -> bool:
    """Whether somebody may open another page. Where he has too many, those that no browser is at go first."""
    pages = open_pages_of(viewer)
    for page in pages:
        if len(pages) < at_most:
            break
        if not page.has_socket_connection:
            page.delete()
            pages = open_pages_of(viewer)
    return len(pages) < at_most


# Web sockets


def has_socket_room(viewer: str, at_most: int) -> bool:
    """Whether a viewer may open another socket: one that is about no page counts, too."""
    sessions = (_session_of(environ) for environ in [*core.sio.environ.values()])
    return sum(one is not None and one.viewer.name == viewer for one in sessions) < at_most


def may_connect(query: Mapping[str, Sequence[str]], session: Session) -> bool:
    """Whether a request for a socket, with this query, is about pages and sockets of the same viewer.

    Not of the same session: a proxy may have another token for him by now.
    """
    for page in filter(None, map(Page.instances.get, query.get("client_id", ()))):
        if not _same_viewer(owner_of(page), session):
            return False
    known = filter(None, map(core.sio.environ.get, query.get("sid", ())))
    return all(_same_viewer(_session_of(environ), session) for environ in known)


def guard_socket_events() -> None:
    """Replaces the handlers of socket events by guarded_handlers ones. Called once.

    No handler can be registered afterwards: `sio.on` raises TypeError.
    """
    core.sio.handlers = guarded_handlers(core.sio.handlers)


def guarded_handlers(handlers: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Returns guarded_handlers handlers for the known events of a socket, and no others.

    A socket may send messages only for a page that it was let in for. Handlers of unknown events, of other
    namespaces, and catch-all handlers (`*`) are left out, so that their events are dropped.
    """
    unknown = sorted(
        event if namespace == "/" else f"{namespace} {event}"
        for namespace, events in handlers.items()
        for event in events
        if namespace != "/" or event not in KNOWN_EVENTS
    )
    if unknown:
        logger.warning(
            "NiceGUI %s has socket events that the console does not know and drops: %s. Install a NiceGUI version "
            "that this release of Kubewright supports: pip install 'kubewright[console]'",
            nicegui.__version__,
            ", ".join(unknown),
        )
    known = {event: _guard(event, handler) for event, handler in handlers["/"].items() if event in KNOWN_EVENTS}
    return MappingProxyType({"/": MappingProxyType(known)})


def _guard(event: str, handler: Any) -> Any:
    if event in _OF_A_PAGE:
        return _for_its_own_page(handler)
    return _of_its_own_viewer(handler) if event == _HANDSHAKE else handler


def _for_its_own_page(handler: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    def checked(sid: str, message: Any) -> None:
        # The handshake put the socket into a room that is called as its page.
        if _page_id(message) in core.sio.rooms(sid):
            handler(sid, message)

    return checked


def _of_its_own_viewer(handler: Callable[[str, Any], Awaitable[bool]]) -> Callable[[str, Any], Awaitable[bool]]:
    async def checked(sid: str, message: Any) -> bool:
        page = Page.instances.get(_page_id(message))
        if page is None or not _same_viewer(owner_of(page), _session_of(core.sio.get_environ(sid))):
            return False
        return await handler(sid, message)

    return checked


def _page_id(message: Any) -> str:
    found = message.get("client_id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else ""


def _session_of(environ: Mapping[str, Any]) -> Session | None:
    session: Session | None = environ["asgi.scope"].get(SESSION)
    return session


def _same_viewer(one: Session | None, other: Session | None) -> bool:
    return one is not None and other is not None and one.viewer.name == other.viewer.name


# Requests that want no page


class HeadMiddleware:
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
