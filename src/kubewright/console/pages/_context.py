"""`PageContext`: the backend, the viewer and the browser of one open page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

import nicegui
from nicegui import background_tasks, ui
from nicegui.client import ClientConnectionTimeout

from kubewright.console._backend import Backend
from kubewright.console.access import Session, Viewer
from kubewright.console.caches import ObjectCache
from kubewright.console.kinds import Kind
from kubewright.console.pages._deletion import delete_page
from kubewright.console.pages._problems import KindNotFound

__all__ = ["PageContext"]

NAMESPACE_COOKIE: Final = "kubewright-namespace"
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_RELOAD_SECONDS: Final = 2.0
_SPINNER_DELAY_SECONDS: Final = 1.0
_CONNECT_SECONDS: Final = 60.0


@dataclass(frozen=True)
class PageContext:
    """Everything that a page needs: the backend, the viewer, the session and the browser."""

    backend: Backend
    viewer: Viewer
    session: Session
    browser: nicegui.Client = field(default_factory=lambda: ui.context.client, repr=False)
    """NiceGUI's client of the page. It is stored because the page's tasks have no NiceGUI context."""

    def on_close(self, callback: Callable[[], Any]) -> None:
        """Calls back once when the browser has left the page. A brief loss of its connection does not count."""
        self.browser.on_delete(callback)

    def set_status(self, status: int) -> None:
        """Sets the HTTP status of the response that delivers the page. Has no effect after that."""
        self.browser.status_code = status

    @property
    def chosen_namespace(self) -> str:
        """The namespace that the viewer chose last in this browser; "" for all."""
        chosen = unquote(self.browser.request.cookies.get(NAMESPACE_COOKIE, ""))
        return chosen if _NAMESPACE.fullmatch(chosen) else ""

    @property
    def contexts(self) -> Sequence[str]:
        """The contexts that the viewer may switch to. Empty unless this is the local user."""
        return self.backend.contexts.names if self.session.local and self.backend.contexts is not None else ()

    def sign_out(self) -> None:
        """Ends the session. All its pages then show the sign-in page."""
        self.backend.sessions.end(self.session)
        self.backend.primary.audit.signed_out(self.session.viewer.name)

    def close_with_session(self) -> None:
        """Closes the page when its session ends: by signing out, expiry, or rejected credentials."""

        def end() -> None:
            self.browser.run_javascript("location.reload()")  # redirects to the sign-in page
            # Delayed, so that the browser receives the message.
            asyncio.get_running_loop().call_later(_RELOAD_SECONDS, delete_page, self.browser)

        self.on_session_end(end)

    def on_session_end(self, callback: Callable[[], None]) -> None:
        """Calls back when the session ends while the page is open."""
        ends = self.session.on_end
        ends.append(callback)
        self.on_close(lambda: ends.remove(callback) if callback in ends else None)

    async def can_see(self, kind: Kind, namespace: str = "") -> bool:
        """Whether the viewer may see objects of a kind, in a namespace or anywhere. Check it before opening a cache."""
        among = [namespace] if namespace else await self.backend.all_namespaces()
        return bool(await self.viewer.visibility(kind, among))

    async def cache(self, kind: Kind) -> ObjectCache:
        """Returns the synced cache of a kind, which stays open until the page is closed."""
        cache = await self.backend.open_cache(kind)
        self.on_close(cache.release)
        await cache.wait_for_sync()
        return cache

    async def find_kind(self, group: str, plural: str) -> Kind:
        """Returns the kind of a path. Raises `KindNotFound` if the cluster does not serve it."""
        path = f"{group}/{plural}"
        kind = await self.backend.kind(path)
        if kind is None:
            raise KindNotFound(path, await self.backend.kinds())
        return kind

    @contextmanager
    def spinner_if_slow(self) -> Iterator[None]:
        """Delivers the page with a spinner if the block takes longer than a second; otherwise together with the block's
        elements, which saves a round trip.
        """
        with ui.element("div").classes("kw-form-part") as waiting:
            ui.spinner()

        async def deliver() -> None:
            await asyncio.sleep(_SPINNER_DELAY_SECONDS)
            # NiceGUI delivers a page that waits for its browser. The rest follows through the socket.
            with suppress(ClientConnectionTimeout):
                await self.browser.connected(timeout=_CONNECT_SECONDS)

        delivering = background_tasks.create(deliver(), name="deliver a slow page")
        try:
            yield
        finally:
            delivering.cancel()
            if not self.browser.is_deleted:
                waiting.delete()
