"""What the tabs of an object's page have in common."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from nicegui import ui

from kubewright.console._look import Look
from kubewright.console._timeline import ago
from kubewright.console.pages._parts import icon

__all__ = ["Moments", "Tab", "banner", "empty", "fact", "section", "style"]

_STYLE: Final = (Path(__file__).parents[1] / "_static" / "object.css").read_text()


def style() -> None:
    """The look of the pages about objects and operators."""
    ui.add_css(_STYLE)


class Moments:
    """Times that are told as "3 min ago", and stay true."""

    def __init__(self) -> None:
        self._labels: list[tuple[ui.label, Callable[[datetime], str]]] = []

    def label(self, at: datetime | None, text: Callable[[datetime], str] | None = None) -> ui.label:
        """A label of how long ago this was; the exact time when the pointer is on it."""
        tell = text or (lambda now: ago(at, now))
        made = ui.label(tell(datetime.now(UTC))).classes("kw-moment")
        if at is not None:
            made.tooltip(at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))
        self._labels.append((made, tell))
        return made

    def tick(self) -> None:
        """Time has passed."""
        now = datetime.now(UTC)
        self._labels = [(label, text) for label, text in self._labels if not label.is_deleted]
        for label, text in self._labels:
            label.set_text(text(now))


class Tab:
    """A tab. It is drawn once, and again where it shows something else than before."""

    def __init__(self, look: Look, moments: Moments) -> None:
        self.look = look
        self.moments = moments
        self._shown: Any = None

    def content(self) -> Any:
        """All that the tab shows, to be compared: the tab is drawn anew when it is another."""
        raise NotImplementedError

    def fill(self) -> None:
        """Draw the content."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draw it for the first time."""
        self._place = ui.column().classes("kw-tab")
        self._redraw(self.content())

    async def update(self) -> None:
        """Something may have changed."""
        content = self.content()
        if content != self._shown:
            self._redraw(content)

    def _redraw(self, content: Any) -> None:
        self._shown = content
        self._place.clear()
        with self._place:
            self.fill()


def section(title: str) -> None:
    """The title of a part of a page."""
    with ui.element("h2").classes("kw-section"):
        ui.label(title)


def fact(name: str, value: str) -> None:
    """A name and a value in a list of facts."""
    ui.label(name).classes("kw-fact-name")
    ui.label(value).classes("kw-fact-value")


def empty(text: str, hint: str = "", picture: str = "inbox") -> None:
    """There is nothing to show, and why, and what to do."""
    with ui.row().classes("kw-empty").props("data-testid=empty"):
        icon(picture)
        with ui.column().classes("kw-empty-text"):
            ui.label(text)
            if hint:
                ui.label(hint).classes("kw-muted")


def banner(text: str, state: str, picture: str) -> ui.row:
    """Something about the whole page."""
    with ui.row().classes("kw-banner").classes(f"kw-{state}").props("role=status") as made:
        icon(picture)
        ui.label(text).classes("kw-banner-text")
    return made
