"""What is around every page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

from kubewright.console._visits import Visit

__all__ = ["frame"]


@contextmanager
def frame(visit: Visit, title: str) -> Iterator[None]:
    """The header, and the place for a page's content."""
    ui.page_title(f"{title} · Kubewright")
    with ui.header():
        ui.link("Kubewright", "/").classes("text-white no-underline")
        ui.space()
        ui.label(visit.viewer.name)
    with ui.column().classes("w-full"):
        yield
