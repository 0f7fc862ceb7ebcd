"""`PageContext`: the backend, the viewer and the browser of one open page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import nicegui
from nicegui import ui

from kubewright.console._backend import Backend
from kubewright.console.access import Session, Viewer
from kubewright.console.caches import ObjectCache
from kubewright.console.kinds import Kind
from kubewright.console.pages._problems import KindNotFound

__all__ = ["PageContext"]

_LAST_SECONDS: Final = 2.0
_CONNECT_SECONDS: Final = 60.0


@dataclass(frozen=True)
class PageContext:
    """Somebody looks at a page."""

    backend: Backend
    viewer: Viewer
    session: Session
    browser: nicegui.Client = field(default_factory=lambda: ui.context.client, repr=False)
    """The page in the browser; kept here, because tasks that a page starts do not know it."""

    def on_close(self, callback: Callable[[], Any]) -> None:
        """Call this once, when the browser is gone for good; not when it only lost its connection for a moment."""
        self.browser.on_delete(callback)

    def set_status(self, status: int) -> None:
        """Let the answer that brings the page have another HTTP status than 200. Too late once the page is there."""
        self.browser.status_code = status

    @property
    def contexts(self) -> Sequence[str]:
        """The contexts that this viewer may choose from; none unless he started the console."""
        return self.backend.contexts.names if self.session.local and self.backend.contexts is not None else ()

    def sign_out(self) -> None:
        """End the session, and with it all its pages: they go to the sign-in page."""
        self.backend.sessions.end(self.session)
        self.backend.primary.audit.signed_out(self.session.viewer.name)

    def close_with_session(self) -> None:
        """Let the page end when its session does: when its viewer signs out, or is not known any more."""

        def end() -> None:
            self.browser.run_javascript("location.reload()")  # which leads to the sign-in page
            # Not at once: the browser still has to hear of it.
            asyncio.get_running_loop().call_later(_LAST_SECONDS, self._delete)

        self.session.on_end.append(end)
        self.on_close(lambda: self.session.on_end.remove(end) if end in self.session.on_end else None)

    def _delete(self) -> None:
        if not self.browser.is_deleted:
            self.browser.delete()

    async def can_see(self, kind: Kind, namespace: str = "") -> bool:
        """Whether the viewer may see objects of a kind, in a namespace or anywhere. Asked before a cache is opened."""
        among = [namespace] if namespace else await self.backend.all_namespaces()
        return bool(await self.viewer.visibility(kind, among))

    async def cache(self, kind: Kind) -> ObjectCache:
        """The objects of a kind, filled; held open until this ctx ends."""
        cache = await self.backend.open_cache(kind)
        self.on_close(cache.release)
        await cache.wait_for_sync()
        return cache

    async def find_kind(self, group: str, plural: str) -> Kind:
        """The kind of an address. Raises `KindNotFound` when the cluster has none."""
        path = f"{group}/{plural}"
        kind = await self.backend.kind(path)
        if kind is None:
            raise KindNotFound(path, await self.backend.kinds())
        return kind

    async def wait_for_browser(self) -> None:
        """Wait until the browser is heard. What is typed before that is lost, so nothing to type into is shown."""
        with ui.element("div").classes("kw-form-part") as waiting:
            ui.spinner()
        await self.browser.connected(timeout=_CONNECT_SECONDS)
        waiting.delete()
