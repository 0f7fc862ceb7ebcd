"""`frame`: the header, navigation, shortcuts, theme and connection state of every page.

    with frame(ctx, "Gadgets", kind=kind):
        ...

An exception of the block is shown as a problem and never reaches the server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Final, NamedTuple

from nicegui import ui

from kubewright.client import ApiError
from kubewright.console.caches import ObjectCache
from kubewright.console.kinds import Kind
from kubewright.console.objects import elapsed
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._problems import KindNotFound, draw
from kubewright.console.pages._static_files import STATIC
from kubewright.console.pages.layout._header import (
    account_menu,
    cluster_name,
    namespace_field,
    search_field,
    theme_button,
    visible_namespaces,
)
from kubewright.console.pages.layout._navigation import navigation
from kubewright.console.pages.layout._palette import Palette
from kubewright.console.pages.layout._shortcuts import KEYS, Shell, keys_dialog
from kubewright.console.pages.widgets import icon, labeled
from kubewright.console.theme import custom_properties

__all__ = ["Frame", "draw_error_page", "frame"]

_HEALTH_SECONDS: Final = 1.0

ui.menu_item.default_props("role=menuitem")  # Quasar's default is the role of list items
ui.add_css(custom_properties() + (STATIC / "base.css").read_text() + (STATIC / "console.css").read_text(), shared=True)


class Outage(NamedTuple):
    """A lost connection, since when, and why."""

    what: str
    since: datetime | None
    why: str = ""
    age: int | None = None
    """The age of the data in seconds, if it is known."""
    retry_in: int | None = None
    """Seconds until the next attempt; None while an attempt is in progress."""

    def __str__(self) -> str:
        when = f" since {self.since:%H:%M:%S} UTC" if self.since else ""
        why = f": {self.why}" if self.why else ""
        age = f" from {elapsed(self.age)} ago" if self.age is not None else ""
        again = f"reconnecting in {self.retry_in} s" if self.retry_in else "reconnecting…"
        return f"{self.what}{when}{why}. Showing last known data{age}; {again}"


class Frame:
    """The frame of one page."""

    def __init__(self, ctx: PageContext, shell: Shell) -> None:
        self.shell = shell
        self._backend = ctx.backend
        self._cache: ObjectCache | None = None

    def follow(self, cache: ObjectCache) -> None:
        """Shows in the frame when this cache loses its connection."""
        self._cache = cache

    def outage(self) -> Outage | None:
        """Returns the current outage; None without one."""
        connection, now = self._backend.connection, self._backend.clock.now()
        if connection.lost:
            age = None if connection.last_answer_at is None else (now - connection.last_answer_at).total_seconds()
            wait = None if connection.retry_at is None else (connection.retry_at - now).total_seconds()
            return Outage(
                "The API server has not responded",
                connection.lost_since,
                connection.error,
                None if age is None else int(age),
                None if wait is None else max(math.ceil(wait), 0),
            )
        caches = [cache for cache in self._backend.open_caches if not cache.forbidden]
        if caches and all(cache.health.state == "unavailable" for cache in caches):  # stops at the first live one
            since = min((cache.health.since for cache in caches if cache.health.since), default=None)
            return Outage("The API server has not responded", since)
        if self._cache is not None and self._cache.health.state == "unavailable":
            # The other caches are live, so only this kind is affected: its definition may have been removed.
            return Outage("This list has not been updated", self._cache.health.since, self._cache.health.message)
        return None


@contextmanager
def frame(
    ctx: PageContext,
    title: str,
    *,
    kind: Kind | None = None,
    namespace: str | None = None,
    here: str = "",
    in_namespace: Callable[[str], str] | None = None,
    fill: bool = False,
) -> Iterator[Frame]:
    """Draws the frame; the block draws the page.

    Args:
        ctx: the page context.
        title: the title of the browser tab.
        kind: the kind that the page shows.
        namespace: the namespace that the page shows, "" for all. Other pages keep it. Default: the last chosen
            namespace, because a page about one object does not change it.
        here: the path of a page that shows no kind.
        in_namespace: returns the path of this page in another namespace; "" is all namespaces. Default: the list of the
            kind, or the kinds.
        fill: whether the page fills the window and scrolls inside.
    """
    backend = ctx.backend
    ui.page_title(f"{title} · Kubewright")
    shell = Shell(namespace, fill=fill)
    if namespace is None:
        namespace = ctx.chosen_namespace
    open_palette = _on_demand(ctx, lambda: Palette(ctx, namespace, KEYS))
    shell.on("palette", open_palette, args=[])
    shell.on("help", _on_demand(ctx, keys_dialog), args=[])
    # The browser opens the drawer if there is room, and reports it.
    with ui.left_drawer(value=False).classes("kw-drawer").props("show-if-above width=236 breakpoint=1023") as drawer:
        labeled(drawer, "Navigation")
        cluster_name(ctx, "kw-narrow-only")
        offer_namespaces = [namespace_field(ctx, kind, namespace, in_namespace, "kw-narrow-only")]
        navigation(backend.known_kinds, kind.path if kind else here, namespace, backend.extensions)
    with ui.header().classes("kw-header") as header:
        if backend.is_production(backend.name):
            header.classes("kw-production-header")
        labeled(ui.button(icon="menu", on_click=drawer.toggle).props("flat dense round"), "Navigation")
        ui.link("Kubewright", "/").classes("kw-brand")
        cluster_name(ctx, "kw-wide-only")
        ui.space()
        search_field(ctx, open_palette)
        offer_namespaces.append(namespace_field(ctx, kind, namespace, in_namespace, "kw-wide-only"))
        if ctx.viewer.read_only:
            ui.label("read-only").classes("kw-badge kw-wide-only")
        show_live = _draw_connection_mark()
        theme_button(shell)
        account_menu(ctx)
    main = ui.column().classes("kw-main")
    with main:
        banner = _Banner()
        content = ui.column().classes("kw-main")

    page_frame = Frame(ctx, shell)
    shown: tuple[str, Outage | None] | None = None

    def refresh() -> None:
        nonlocal shown
        state = backend.connection.state, page_frame.outage()
        if state != shown:  # an idle page sends nothing
            shown = state
            show_live(*state)
            banner.show(state[1])

    async def load_namespaces() -> None:
        with suppress(ApiError, OSError):  # the frame reports the lost connection
            names = await visible_namespaces(ctx, kind)
            for show in offer_namespaces:
                show(names)

    refresh()
    with content:
        try:
            yield page_frame
        except Exception as error:
            content.clear()
            with content:
                draw(error)
    # The link comes last: its script has the first ">" of the page, and NiceGUI escapes everything after it slowly.
    ui.skip_link("Skip to content", target=main)
    refresh()  # drawing the content may have detected an outage
    # Timers come last. NiceGUI delivers a page when a timer waits for the browser, and sends the rest as messages.
    ui.timer(_HEALTH_SECONDS, refresh)
    ui.timer(0, load_namespaces, once=True)


def draw_error_page(ctx: PageContext, error: BaseException) -> None:
    """Draws a page for an exception that was raised before the frame was drawn. Responds 404 to a missing kind."""
    if isinstance(error, KindNotFound):
        ctx.set_status(404)
    with frame(ctx, "Problem"):
        draw(error)


def _on_demand(ctx: PageContext, draw_dialog: Callable[[], Palette | ui.dialog]) -> Callable[[], None]:
    """Returns a function that opens a dialog. The dialog is drawn on first use, because most pages do not need it."""
    drawn: list[Palette | ui.dialog] = []

    def show() -> None:
        if drawn:
            drawn[0].open()
            return
        with ctx.browser.content:
            drawn.append(draw_dialog())

    return show


class _Banner:
    """The banner above a page while the API server does not respond."""

    def __init__(self) -> None:
        self._row = ui.row().classes("kw-banner kw-failing").props("role=alert data-testid=outage")
        with self._row:
            icon("cloud_off")
            self._text = ui.label("")
        self._row.set_visibility(False)

    def show(self, outage: Outage | None) -> None:
        if outage is not None:
            self._text.set_text(str(outage))
        self._row.set_visibility(outage is not None)


def _draw_connection_mark() -> Callable[[str, Outage | None], None]:
    with ui.element("span").classes("kw-live").props("role=status data-testid=connection") as mark:
        picture = icon("bolt")
        with ui.element("span").classes("kw-live-text"):
            text = ui.label("")

    def show(state: str, outage: Outage | None) -> None:
        connected = state == "connected"
        color = "kw-failing" if outage else "kw-ready" if connected else "kw-unknown"
        mark.classes(remove="kw-ready kw-failing kw-unknown", add=color)
        picture.set_name("cloud_off" if outage else "bolt" if connected else "hourglass_top")
        since = f" since {outage.since:%H:%M:%S}" if outage and outage.since else ""
        text.set_text(f"disconnected{since}" if outage else "live" if connected else "connecting")
        labeled(mark, f"API server: {text.text}")

    return show
