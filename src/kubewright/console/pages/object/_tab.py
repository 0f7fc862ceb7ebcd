"""`Tab`: the base of the tabs of an object's page."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from kubewright.console._object_view import ObjectView
from kubewright.console.pages.widgets import RelativeTimes

__all__ = ["Tab"]


class Tab:
    """A tab. It is redrawn when its content changes."""

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        self.view = view
        self.times = times
        self._shown: Any = None
        self._expanded: set[str] = set()

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

    def details(self, key: str) -> ui.element:
        """Draws a `details` element, which stays open when the tab is redrawn. Keys are unique in their tab."""
        made = ui.element("details").classes("kw-details")
        if key in self._expanded:
            made.props("open")

        def toggled(event: GenericEventArguments) -> None:
            opened = isinstance(event.args, dict) and event.args.get("newState") == "open"
            (self._expanded.add if opened else self._expanded.discard)(key)

        return made.on("toggle", toggled, args=["newState"])

    def _redraw(self, content: Any) -> None:
        self._shown = content
        self._place.clear()
        with self._place:
            self.fill()
