"""Open pages: who owns each, how many a viewer may have, and which socket may send to which page.

A page is a connection and memory in this process (NiceGUI's `Client`) from its request until the browser has left.
NiceGUI accepts a WebSocket message for any page whose ID the message contains. This module therefore checks the owner.
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
from kubewright.console.pages import delete_page

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

_SERVER_EVENTS: Final = frozenset({"connect", "disconnect"})  # raised by socket.io itself, not sent by a browser
_PAGE_EVENTS: Final = frozenset({"event", "javascript_response", "ack", "log"})
_HANDSHAKE: Final = "handshake"
KNOWN_EVENTS: Final = _SERVER_EVENTS | _PAGE_EVENTS | {_HANDSHAKE}
"""The socket events of NiceGUI that are handled. Every other event is dropped."""

_HEAD_REQUEST: Final = "kubewright.head"


def owner_of(page: Page) -> Session | None:
    """Returns the session that a page was created for."""
    try:
        session: Session | None = page.request.scope.get(SESSION)
    except RuntimeError:  # the page has no request
        return None
    return session


def open_pages_of(viewer: str) -> list[Page]:
    """Returns the open pages of a user name, oldest first."""
    owned = ((page, owner_of(page)) for page in [*Page.instances.values()])
    return [page for page, owner in owned if owner is not None and owner.viewer.name == viewer]


def has_page_room(viewer: str, at_most: int) -> bool:
    """Whether a viewer may open another page. At the limit, pages without a connected browser are deleted first."""
    pages = open_pages_of(viewer)
    for page in pages:
        if len(pages) < at_most:
            break
        if not page.has_socket_connection:
            delete_page(page)
            pages = open_pages_of(viewer)
    return len(pages) < at_most


# WebSockets


def has_socket_room(viewer: str, at_most: int) -> bool:
    """Whether a viewer may open another socket. Sockets without a page count too."""
    sessions = (_session_of(environ) for environ in [*core.sio.environ.values()])
    return sum(one is not None and one.viewer.name == viewer for one in sessions) < at_most


def may_connect(query: Mapping[str, Sequence[str]], session: Session) -> bool:
    """Whether a socket request with this query concerns only pages and sockets of the same viewer.

    Compares viewers, not sessions: a proxy may have renewed the viewer's token.
    """
    for page in filter(None, map(Page.instances.get, query.get("client_id", ()))):
        if not _same_viewer(owner_of(page), session):
            return False
    known = filter(None, map(core.sio.environ.get, query.get("sid", ())))
    return all(_same_viewer(_session_of(environ), session) for environ in known)


def guard_socket_events() -> None:
    """Replaces the handlers of socket events by guarded ones. Called once.

    No handler can be registered afterwards: `sio.on` raises TypeError.
    """
    core.sio.handlers = guarded_handlers(core.sio.handlers)


def guarded_handlers(handlers: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Returns guarded handlers for the known events of a socket, and no others.

    A socket may send messages only for the page of its handshake. Handlers of unknown events, of other namespaces, and
    catch-all handlers (`*`) are omitted, so that their events are dropped.
    """
    unknown = sorted(
        event if namespace == "/" else f"{namespace} {event}"
        for namespace, events in handlers.items()
        for event in events
        if namespace != "/" or event not in KNOWN_EVENTS
    )
    if unknown:
        logger.warning(
            "NiceGUI %s has unknown socket events, which the console drops: %s. Install a NiceGUI version "
            "that this release of Kubewright supports: pip install 'kubewright[console]'",
            nicegui.__version__,
            ", ".join(unknown),
        )
    known = {event: _guard(event, handler) for event, handler in handlers["/"].items() if event in KNOWN_EVENTS}
    return MappingProxyType({"/": MappingProxyType(known)})


def _guard(event: str, handler: Any) -> Any:
    if event in _PAGE_EVENTS:
        return _check_page(handler)
    return _check_viewer(handler) if event == _HANDSHAKE else handler


def _check_page(handler: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    def checked(sid: str, message: Any) -> None:
        # The handshake added the socket to a room with the ID of its page.
        if _page_id(message) in core.sio.rooms(sid):
            handler(sid, message)

    return checked


def _check_viewer(handler: Callable[[str, Any], Awaitable[bool]]) -> Callable[[str, Any], Awaitable[bool]]:
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


# HEAD requests


class HeadMiddleware:
    """ASGI middleware that serves HEAD as GET, and deletes the page afterwards because no browser connects to it.

    The server omits the body by itself.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on as GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._application(scope, receive, send)
            return
        marker = object()

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":  # the page exists now
                _delete_page(marker)
            await send(message)

        await self._application({**scope, "method": "GET", _HEAD_REQUEST: marker}, receive, answered)


def _delete_page(marker: object) -> None:
    for page in [*Page.instances.values()]:
        if owner_of(page) is not None and page.request.scope.get(_HEAD_REQUEST) is marker:
            delete_page(page)
