"""Parts of a page: sections, facts, notices, banners and empty states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from kubewright.console.pages._static_files import STATIC
from kubewright.console.pages.widgets._elements import icon

__all__ = ["add_object_style", "banner", "empty", "fact", "notice", "section"]

_STYLE: Final = (STATIC / "object.css").read_text()


def add_object_style() -> None:
    """Adds the style sheet of the pages about objects and operators to the page."""
    ui.add_css(_STYLE)


def section(title: str) -> None:
    """Draws the title of a section."""
    with ui.element("h2").classes("kw-section"):
        ui.label(title)


def fact(name: str, value: str) -> None:
    """Draws a name and a value in a list of facts."""
    ui.label(name).classes("kw-fact-name")
    ui.label(value).classes("kw-fact-value")


def empty(text: str, hint: str = "", picture: str = "inbox") -> None:
    """Draws an empty state with the reason and a hint."""
    with ui.row().classes("kw-empty").props("data-testid=empty"):
        icon(picture)
        with ui.column().classes("kw-empty-text"):
            ui.label(text)
            if hint:
                ui.label(hint).classes("kw-muted")


def banner(text: str, state: str, picture: str) -> ui.row:
    """Draws a banner about the whole page."""
    with ui.row().classes("kw-banner").classes(f"kw-{state}").props("role=status") as made:
        icon(picture)
        ui.label(text).classes("kw-banner-text")
    return made


def notice(title: str, texts: Sequence[str], classes: str = "") -> ui.element:
    """Draws a notice with details."""
    with ui.element("div").classes("kw-notice").props("role=status") as made:
        if classes:
            made.classes(classes)
        ui.label(title).classes("kw-notice-title")
        for text in texts:
            ui.label(text)
    return made
