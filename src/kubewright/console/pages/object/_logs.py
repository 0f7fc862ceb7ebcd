"""The logs of an object: those of its containers, and the operator's lines about it."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from nicegui import ui

from kubewright.console._object_view import ObjectView
from kubewright.console.pages.object._container_logs import ContainerLogs
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.object._timeline import operator_hint
from kubewright.console.pages.widgets import RelativeTimes, empty, section
from kubewright.observe import LogLine

__all__ = ["LogsTab"]


class LogsTab(Tab):
    """The last log lines about the object, newest last."""

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        super().__init__(view, times)
        self._open: set[tuple[Any, ...]] = set()

    def content(self) -> Any:
        """Returns the lines."""
        return [(status.ref.controller.name, status.problem, [*status.logs]) for status in self.view.controllers]

    def draw(self) -> None:
        """Draws the logs of containers once, and the operator's lines below, which are redrawn."""
        self._containers = ContainerLogs(self.view)
        self._container_place = ui.column().classes("kw-tab")
        self._choices: dict[str, str] = {}
        self._draw_containers()
        super().draw()

    def _draw_containers(self) -> None:
        choices = ContainerLogs.choices(self.view)
        if choices and choices.keys() != self._choices.keys():
            self._containers.close()
            self._containers, self._choices = ContainerLogs(self.view), choices
            self._container_place.clear()
            with self._container_place:
                self._containers.draw(choices)
            ui.context.client.on_delete(self._containers.close)

    async def update(self) -> None:
        """Redraws the containers if they changed, and the operator's lines if there are new ones."""
        with self._container_place:
            self._draw_containers()
        await super().update()

    def close(self) -> None:
        """Stops reading the logs of containers."""
        self._containers.close()

    def fill(self) -> None:
        """Draws the lines of all controllers, sorted by time."""
        if self.view.kind.path == "core/pods" and not self.view.controllers:
            return
        if self._choices:
            section("Operator log")
        if operator_hint(self.view):
            return
        for status in self.view.controllers:
            if status.problem:
                empty(status.problem, picture="cloud_off")
        lines = sorted((line for status in self.view.controllers for line in status.logs), key=lambda line: line.time)
        if not lines:
            hint = "The operator keeps the last 100 lines per object, from the time it serves its debug endpoints."
            empty("The operator has logged nothing about this object.", hint, "subject")
            return
        with ui.element("div").classes("kw-log kw-card").props("role=log tabindex=0 data-testid=log"):
            for line in lines:
                self._line(line)

    def _line(self, line: LogLine) -> None:
        at = line.time.astimezone(UTC)
        with ui.element("div").classes("kw-log-line"):
            ui.label(at.strftime("%H:%M:%S.%f")[:-3]).classes("kw-log-time").tooltip(at.strftime("%Y-%m-%d UTC"))
            ui.label(line.level).classes("kw-log-level").classes(_CLASSES.get(line.level, ""))
            with ui.element("div").classes("kw-log-text"):
                extra = "".join(f"  {name}={value}" for name, value in line.extra.items())
                ui.label(f"{line.message}{extra}")
                if line.traceback:
                    self._traceback(line)

    def _traceback(self, line: LogLine) -> None:
        place = (line.time, line.logger, line.message)
        button = ui.button("Traceback", icon="unfold_more").props("flat dense size=sm")
        block = ui.label(line.traceback).classes("kw-traceback")
        block.set_visibility(place in self._open)

        def toggle() -> None:
            self._open.symmetric_difference_update({place})
            block.set_visibility(place in self._open)

        button.on_click(toggle)


_CLASSES = {"error": "kw-failing", "critical": "kw-failing", "warning": "kw-terminating", "debug": "kw-muted"}
