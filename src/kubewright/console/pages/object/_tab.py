"""`Tab`: what the tabs of an object's page have in common."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from kubewright.console._object_view import ObjectView
from kubewright.console.pages.widgets import RelativeTimes

__all__ = ["Tab"]


class Tab:
    """A tab. It is drawn once, and again where it shows something else than before."""

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        self.view = view
        self.times = times
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
