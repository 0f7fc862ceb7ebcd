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
from typing import Final, NamedTuple

from nicegui import ui

from kubewright.console._kinds import Kind
from kubewright.console._shelves import Shelf
from kubewright.console._theme import custom_properties
from kubewright.console._visits import Visit
from kubewright.console.pages._header import account_menu, cluster_name, namespace_field, search_field, theme_button
from kubewright.console.pages._keys import Shell, keys_dialog
from kubewright.console.pages._navigation import navigation
from kubewright.console.pages._parts import icon, labelled
from kubewright.console.pages._problems import KindMissing, draw

__all__ = ["Frame", "failed", "frame"]

_STATIC = Path(__file__).parents[1] / "_static"
_LOOK_SECONDS: Final = 1.0

ui.add_css(
    custom_properties() + (_STATIC / "base.css").read_text() + (_STATIC / "console.css").read_text(), shared=True
)


class Trouble(NamedTuple):
    """What stands still, since when, and why."""

    what: str
    since: datetime | None
    why: str = ""

    def __str__(self) -> str:
        when = f" since {self.since:%H:%M:%S} UTC" if self.since else ""
        why = f": {self.why}" if self.why else ""
        return f"{self.what}{when}{why}. This is what was known; it goes on by itself."


class Frame:
    """The frame of one page, for what pages change in it."""

    def __init__(self, visit: Visit, shell: Shell) -> None:
        self.shell = shell
        self._console = visit.console
        self._shelf: Shelf | None = None

    def follow(self, shelf: Shelf) -> None:
        """The page shows what is on this shelf: when it stands still, the page says so."""
        self._shelf = shelf

    def trouble(self) -> Trouble | None:
        """None while all is well."""
        healths = [shelf.health for shelf in self._console.open_shelves if shelf.health.state != "forbidden"]
        if healths and all(health.state == "away" for health in healths):
            since = min((health.since for health in healths if health.since), default=None)
            return Trouble("The API server has not answered", since)
        if self._shelf is not None and self._shelf.health.state == "away":
            # The others are live, so it is this kind alone: its definition may be gone.
            return Trouble("This list stands still", self._shelf.health.since, self._shelf.health.message)
        return None


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
    # Open where there is room: the browser decides, and tells us.
    with ui.left_drawer(value=False).classes("kw-drawer").props("show-if-above width=236 breakpoint=1023") as drawer:
        labelled(drawer, "Navigation")
        cluster_name(visit, "kw-narrow-only")
        namespace_field(visit, kind, namespace, in_namespace, "kw-narrow-only")
        navigation(console.known_kinds, kind.path if kind else here, namespace)
    with ui.header().classes("kw-header"):
        labelled(ui.button(icon="menu", on_click=drawer.toggle).props("flat dense round"), "Navigation")
        ui.link("Kubewright", "/").classes("kw-brand")
        cluster_name(visit, "kw-wide-only")
        ui.space()
        search_field(visit)
        namespace_field(visit, kind, namespace, in_namespace, "kw-wide-only")
        if visit.viewer.read_only:
            ui.label("read-only").classes("kw-badge kw-wide-only")
        show_live = _live()
        theme_button(shell)
        account_menu(visit)
    main = ui.column().classes("kw-main")
    with main:
        banner = _Banner()
        content = ui.column().classes("kw-main")
    ui.skip_link("Skip to the content", target=main)

    made = Frame(visit, shell)
    shown: Trouble | None = None

    def look() -> None:
        nonlocal shown
        trouble = made.trouble()
        if trouble != shown:  # a page where nothing happens sends nothing
            shown = trouble
            show_live(trouble)
            banner.show(trouble)

    ui.timer(_LOOK_SECONDS, look)
    with content:
        try:
            yield made
        except Exception as error:
            content.clear()
            with content:
                draw(error)


def failed(visit: Visit, error: BaseException) -> None:
    """A whole page for an error that came before there was a frame. What is not there is a 404, also to programs."""
    if isinstance(error, KindMissing):
        visit.answer_with(404)
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

    def show(self, trouble: Trouble | None) -> None:
        if trouble is not None:
            self._text.set_text(str(trouble))
        self._row.set_visibility(trouble is not None)


def _live() -> Callable[[Trouble | None], None]:
    with ui.element("span").classes("kw-live kw-ready").props("role=status data-testid=connection") as mark:
        picture = icon("bolt")
        with ui.element("span").classes("kw-live-text"):
            text = ui.label("live")

    def show(trouble: Trouble | None) -> None:
        mark.classes(remove="kw-ready kw-failing", add="kw-failing" if trouble else "kw-ready")
        picture.set_name("cloud_off" if trouble else "bolt")
        since = f" since {trouble.since:%H:%M:%S}" if trouble and trouble.since else ""
        text.set_text(f"away{since}" if trouble else "live")
        labelled(mark, f"API server: {text.text}")

    return show
