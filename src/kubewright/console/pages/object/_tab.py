"""`Tab`: the base of the tabs of an object's page."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from kubewright.console._object_view import ObjectView
from kubewright.console.pages.widgets import RelativeTimes

__all__ = ["Tab"]


class Tab:
    """A tab. It is redrawn when its content changes."""

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        self.view = view
        self.times = times
        self._shown: Any = None

    def content(self) -> Any:
        """Returns everything that the tab shows, for comparison."""
        raise NotImplementedError

    def fill(self) -> None:
        """Draws the content."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draws the tab for the first time."""
        self._place = ui.column().classes("kw-tab")
        self._redraw(self.content())

    async def update(self) -> None:
        """Redraws the tab if its content changed."""
        content = self.content()
        if content != self._shown:
            self._redraw(content)

    def close(self) -> None:
        """Ends the work of the tab, when another one is selected."""

    def _redraw(self, content: Any) -> None:
        self._shown = content
        self._place.clear()
        with self._place:
            self.fill()
