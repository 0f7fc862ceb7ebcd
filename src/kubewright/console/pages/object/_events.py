"""The events of an object and of the objects that it owns."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from kubewright.console.objects import EventLine, Node, State
from kubewright.console.pages._addresses import object_address
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.widgets import empty, link, state_mark

__all__ = ["EventsTab"]


class EventsTab(Tab):
    """Aggregated events, newest first."""

    def content(self) -> Any:
        """Returns the lines, and why there are none."""
        return (self.view.events, self.view.events_problem if self.view.ready else "", self.view.ready)

    def fill(self) -> None:
        """Draws the table."""
        view = self.view
        if not view.ready:
            ui.label("Loading…").classes("kw-muted")
            return
        if view.events_problem:
            empty(view.events_problem, "kubectl auth can-i list events", "lock")
            return
        if not view.events:
            hint = "The API server keeps events for one hour by default."
            empty("There are no events about this object or the objects that it owns.", hint, "notifications_off")
            return
        nodes = {node.uid: node for node in view.tree.walk()}
        scroll = ui.element("div").classes("kw-scroll")
        with scroll, ui.element("table").classes("kw-table kw-table-flow").props("data-testid=events"):
            with ui.element("thead"), ui.element("tr"):
                for title in ("Last", "Type", "Reason", "About", "Message", "Times", "From"):
                    with ui.element("th"):
                        ui.label(title)
            with ui.element("tbody"):
                for line in view.events:
                    self._line(line, nodes.get(line.about.uid))

    def _line(self, line: EventLine, node: Node | None) -> None:
        with ui.element("tr").props("data-testid=event"):
            with ui.element("td").classes("kw-nowrap"):
                self.times.label(line.last).classes("kw-muted")
            with ui.element("td").classes("kw-nowrap"):
                state_mark(State.FAILING if line.type == "Warning" else State.READY, line.type)
            with ui.element("td"):
                ui.label(line.reason).classes("kw-strong")
            with ui.element("td"):
                if node is not None:
                    address = object_address(node.kind.path, node.key.namespace, node.key.name)
                    link(f"{node.kind.kind} {node.key.name}", address)
                else:
                    ui.label("this object").classes("kw-muted")
            with ui.element("td").classes("kw-message"):
                ui.label(line.message)
            with ui.element("td").classes("kw-number"):
                ui.label(str(line.times))
            with ui.element("td"):
                ui.label(line.source).classes("kw-muted")
