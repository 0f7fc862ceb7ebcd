"""What is around every page: the header, the way to other pages, keys, the theme, and how the cluster is doing.

    with frame(visit, "Gadgets", kind=kind):
        ...

What the block raises becomes a state of the page that says what to do; it never reaches the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from nicegui import ui

from kubewright.client import ApiError
from kubewright.console._kinds import Kind
from kubewright.console._theme import custom_properties
from kubewright.console._visits import Visit
from kubewright.console.pages._keys import Shell, keys_dialog
from kubewright.console.pages._navigation import navigation
from kubewright.console.pages._parts import icon, labelled
from kubewright.console.pages._problems import draw
from kubewright.console.pages._view import View

__all__ = ["Frame", "failed", "frame"]

_STATIC = Path(__file__).parents[1] / "_static"
_THEMES: Final = {"auto": ("brightness_auto", None), "light": ("light_mode", False), "dark": ("dark_mode", True)}
_LOOK_SECONDS: Final = 1.0
_EVERYWHERE: Final = "All namespaces"

ui.add_css(custom_properties() + (_STATIC / "console.css").read_text(), shared=True)


class Frame:
    """The frame of one page, for what pages change in it."""

    def __init__(self, main: ui.column, shell: Shell) -> None:
        self.main = main
        self.shell = shell


@contextmanager
def frame(
    visit: Visit,
    title: str,
    *,
    kind: Kind | None = None,
    namespace: str = "",
    here: str = "",
    in_namespace: Callable[[str], str] | None = None,
    fill: bool = False,
) -> Iterator[Frame]:
    """Draw the frame; the block draws the page.

    Args:
        visit: who looks.
        title: of the page, for the browser's tab.
        kind: the kind that the page is about.
        namespace: the one that is chosen; links to other pages keep it.
        here: the address of a page that is about no kind.
        in_namespace: the address of this page in another namespace ("" is all of them); unless given, a choice leads
            to the list of the kind, or to the kinds.
        fill: whether the page is as high as the window, and scrolls inside.
    """
    console = visit.console
    ui.page_title(f"{title} · Kubewright")
    if fill:
        ui.query("body").classes("kw-fill")
    shell = Shell(keys_dialog())
    with ui.left_drawer().classes("kw-drawer").props("width=236 breakpoint=1023") as drawer:
        labelled(drawer, "Navigation")
        _namespaces(visit, kind, namespace, in_namespace, "kw-narrow-only")
        navigation(console.known_kinds, kind.path if kind else here, namespace)
    with ui.header().classes("kw-header"):
        labelled(ui.button(icon="menu", on_click=drawer.toggle).props("flat dense round"), "Navigation")
        ui.link("Kubewright", "/").classes("kw-brand")
        cluster = ui.label(console.name).classes("kw-context")
        cluster.props["title"] = console.name
        ui.space()
        _search(visit)
        _namespaces(visit, kind, namespace, in_namespace, "kw-wide-only")
        if visit.viewer.read_only:
            ui.label("read-only").classes("kw-badge kw-wide-only")
        show_live = _live()
        _theme(shell)
        viewer = ui.label(visit.viewer.name).classes("kw-viewer")
        viewer.props["title"] = f"signed in as {visit.viewer.name}"
    main = ui.column().classes("kw-main")
    with main:
        banner = _Banner()
        content = ui.column().classes("kw-main")
    ui.skip_link("Skip to the content", target=main)

    def look() -> None:
        away = [shelf.health for shelf in console.open_shelves if shelf.health.state == "away"]
        since = min((one.since for one in away if one.since), default=None)
        show_live(bool(away), since)
        banner.show(bool(away), since)

    ui.timer(_LOOK_SECONDS, look)
    with content:
        try:
            yield Frame(content, shell)
        except Exception as error:
            content.clear()
            with content:
                draw(error)


def failed(visit: Visit, error: BaseException) -> None:
    """A whole page for an error that came before there was a frame."""
    with frame(visit, "Problem"):
        draw(error)


class _Banner:
    """Above a page, while the API server is away: what is shown is what was known."""

    def __init__(self) -> None:
        self._row = ui.row().classes("kw-banner kw-failing").props("role=alert data-testid=away")
        with self._row:
            icon("cloud_off")
            self._text = ui.label("")
        self._row.set_visibility(False)

    def show(self, away: bool, since: datetime | None) -> None:
        if away:
            when = f" since {since:%H:%M:%S} UTC" if since else ""
            self._text.set_text(
                f"The API server has not answered{when}. This is what was known; it goes on by itself when it is back."
            )
        self._row.set_visibility(away)


def _live() -> Callable[[bool, datetime | None], None]:
    with ui.element("span").classes("kw-live kw-ready").props("role=status data-testid=connection") as mark:
        picture = icon("bolt")
        with ui.element("span").classes("kw-live-text"):
            text = ui.label("live")

    def show(away: bool, since: datetime | None) -> None:
        mark.classes(remove="kw-ready kw-failing", add="kw-failing" if away else "kw-ready")
        picture.set_name("cloud_off" if away else "bolt")
        said = f"away since {since:%H:%M:%S}" if since else "away"
        text.set_text(said if away else "live")

    return show


def _theme(shell: Shell) -> None:
    request = ui.context.client.request
    chosen = request.cookies.get("kubewright-theme", "auto")
    state = {"choice": chosen if chosen in _THEMES else "auto"}
    dark = ui.dark_mode(_THEMES[state["choice"]][1])

    def turn() -> None:
        names = [*_THEMES]
        state["choice"] = names[(names.index(state["choice"]) + 1) % len(names)]
        picture, dark.value = _THEMES[state["choice"]]
        button.set_icon(picture)
        labelled(button, f"Theme: {state['choice']}")
        shell.remember_theme(state["choice"])

    button = ui.button(icon=_THEMES[state["choice"]][0], on_click=turn).props("flat dense round")
    labelled(button, f"Theme: {state['choice']}")


def _search(visit: Visit) -> None:
    names = sorted({name for kind in visit.console.known_kinds for name in (kind.plural, *kind.short_names)})

    def go() -> None:
        from kubewright.console.pages._search import search_address

        text = (field.value or "").strip()
        if text:
            ui.navigate.to(search_address(visit.console.known_kinds, text))

    field = ui.input(placeholder="Search", autocomplete=names).classes("kw-search").props("outlined dense")
    field.props["aria-label"] = "Search kinds and objects"
    field.props["data-search"] = "all"
    with field.add_slot("prepend"):
        icon("search")
    field.on("keydown.enter", go)


def _namespaces(
    visit: Visit, kind: Kind | None, namespace: str, in_namespace: Callable[[str], str] | None, where: str
) -> None:
    if kind is not None and not kind.namespaced:
        return

    def choose() -> None:
        chosen = field.value or ""
        if chosen == namespace:
            return
        if in_namespace is not None:
            address = in_namespace(chosen)
        else:
            address = (
                View(namespace=chosen).address(kind.path) if kind else "/" + (f"?namespace={chosen}" * bool(chosen))
            )
        ui.navigate.to(address)

    async def load() -> None:
        try:
            names = await _visible_namespaces(visit, kind)
        except (ApiError, OSError):
            return  # the page itself says that the API server is away
        field.set_options({"": _EVERYWHERE} | {name: name for name in {*names, namespace} - {""}})

    options = {"": _EVERYWHERE} | ({namespace: namespace} if namespace else {})
    field = (
        ui.select(options, value=namespace, with_input=True, on_change=choose).classes("kw-namespace").classes(where)
    )
    field.props("outlined dense options-dense")
    labelled(field, "Namespace")
    ui.timer(0, load, once=True)


async def _visible_namespaces(visit: Visit, kind: Kind | None) -> list[str]:
    """The namespaces to choose from: those that the viewer may list, or where he may list the kind."""
    everywhere = await visit.console.all_namespaces()
    namespaces = await visit.console.kind("core/namespaces")
    if namespaces is not None and await visit.viewer.may("list", namespaces):
        return sorted(everywhere)
    allowed = await visit.viewer.namespaces_of(kind) if kind is not None else frozenset[str]()
    return sorted(name for name in everywhere if name in allowed)
