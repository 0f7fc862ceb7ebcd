"""The timeline: the last reconciles of an object, their triggers, writes and errors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from nicegui import ui

from kubewright.console._object_view import ControllerStatus, ObjectView
from kubewright.console.objects import ReconcileEntry, State, WriteEntry, queue_id, queue_text
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.widgets import (
    RelativeTimes,
    banner,
    durations_chart,
    durations_options,
    empty,
    icon,
    link,
    section,
    state_mark,
)
from kubewright.durations import format_duration
from kubewright.observe import QueueState

__all__ = ["TimelineTab", "operator_hint"]


def operator_hint(view: ObjectView) -> bool:
    """Shows why no operator reports about the object. Returns False if one does."""
    if view.controllers:
        return False
    if view.backend.operators.controllers_of(view.kind.group, view.kind.kind):
        empty("You may not get this object.", "The operator's reports require the verb “get”.", "lock")
    elif len(view.backend.operators):
        names = ", ".join(operator.name for operator in view.backend.operators)
        empty(
            f"No connected operator manages {view.kind.kind} objects.",
            f"Connected operators: {names}.",
            "support_agent",
        )
    else:
        empty(
            "No operator is connected.",
            "Start the operator with --health-bind 127.0.0.1:8081, and this console with --operator 127.0.0.1:8081.",
            "support_agent",
        )
    return True


class TimelineTab(Tab):
    """For each controller of the kind: the queue, a chart, and the reconciles, newest first."""

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        super().__init__(view, times)
        self._open: set[str] = set()
        self._reports: list[_ControllerReport] = []

    def content(self) -> Any:
        """Returns the controllers that report. `update` updates their reports in place."""
        return [
            (status.ref.controller.name, status.problem, status.inspected is None) for status in self.view.controllers
        ]

    def fill(self) -> None:
        """Draws one report per controller."""
        self._reports = []
        if operator_hint(self.view):
            return
        for status in self.view.controllers:
            with ui.row().classes("kw-line"):
                section(f"Controller {status.ref.controller.name}")
                ui.label("of").classes("kw-muted")
                link(status.ref.operator.name, "/operator")
            if status.problem:
                banner(status.problem, "failing", "cloud_off")
            elif status.inspected is None:
                empty("This controller has no record of a reconcile of this object.", picture="history")
            else:
                self._reports.append(_ControllerReport(status, self.times, self._open))

    async def update(self) -> None:
        """Updates the reports in place."""
        await super().update()
        for report, status in zip(
            self._reports, [one for one in self.view.controllers if one.inspected is not None], strict=False
        ):
            report.update(status)


class _ControllerReport:
    """The report of one controller."""

    def __init__(self, status: ControllerStatus, times: RelativeTimes, opened: set[str]) -> None:
        self.times = times
        self._open = opened
        self._shown: tuple[Any, Any] = (None, None)
        self._queue = ui.row().classes("kw-card kw-box kw-line").props("data-testid=queue")
        self._chart = durations_chart(status.entries)
        self._entries = ui.element("ol").classes("kw-entries").props("data-testid=entries")
        self._items: dict[str, ui.element] = {}
        self.update(status)

    def update(self, status: ControllerStatus) -> None:
        """Redraws what changed."""
        assert status.inspected is not None
        queue, entries = status.inspected.inspection.queue, status.entries
        shown = (queue_id(queue), [entry.id for entry in entries])
        if shown[0] != self._shown[0]:
            self._queue.clear()
            with self._queue:
                self._draw_queue(queue)
        if shown[1] != self._shown[1]:
            self._chart.options.update(durations_options(entries))
            self._chart.update()
            self._update_entries(entries)
        self._shown = shown

    def _update_entries(self, entries: Sequence[ReconcileEntry]) -> None:
        """Adds new entries and removes old ones. The others stay in place, so that a click does not miss its target."""
        for old in self._items.keys() - {entry.id for entry in entries}:
            self._items.pop(old).delete()
        for place, entry in enumerate(entries):
            if entry.id not in self._items:
                with self._entries:
                    self._items[entry.id] = self._draw_entry(entry)
                self._items[entry.id].move(target_index=place)

    def _draw_queue(self, queue: QueueState) -> None:
        state, _ = queue_text(queue, datetime.now(UTC))
        state_mark(state, queue.state)
        self.times.label(None, lambda now: queue_text(queue, now)[1])
        if queue.trigger:
            cause = f" ({queue.cause})" if queue.cause else ""
            ui.label(f"· triggered by {queue.trigger}{cause}").classes("kw-muted")

    def _draw_entry(self, entry: ReconcileEntry) -> ui.element:
        record = entry.record
        with ui.element("li").classes("kw-entry kw-card").props("data-testid=entry") as item:
            with ui.row().classes("kw-line"):
                state_mark(entry.state, entry.text)
                self.times.label(record.ended_at).classes("kw-muted")
                ui.space()
                if record.trace:
                    ui.label(record.trace[:8]).classes("kw-mono kw-muted").tooltip(f"trace {record.trace}")
            waited = (record.began_at - record.woken_at).total_seconds()
            with ui.row().classes("kw-line kw-muted"):
                ui.label(f"Trigger: {entry.why}")
                if waited >= 0.001:
                    ui.label(f"· waited {format_duration(waited)} for a worker")
            if record.error:
                ui.label(record.error).classes("kw-error kw-mono").props("data-testid=entry-error")
            for number, write in enumerate(entry.writes):
                self._draw_write(entry, number, write)
            if record.more_writes:
                ui.label(f"and {record.more_writes} more writes").classes("kw-muted")
            if not entry.writes and entry.state is State.READY:
                ui.label("No writes: everything was up to date.").classes("kw-muted kw-small")
        return item

    def _draw_write(self, entry: ReconcileEntry, number: int, write: WriteEntry) -> None:
        details = write.lines or write.fields
        place = f"{entry.id} {number}"
        with ui.column().classes("kw-write").props("data-testid=write"):
            with ui.row().classes("kw-line"):
                icon("edit_note").classes("kw-muted")
                ui.label(write.text)
                ui.label(write.answer).classes("kw-badge kw-failing" if write.failed else "kw-badge")
                if write.lines is None and write.fields:
                    ui.label(_format_changes(write)).classes("kw-mono kw-small kw-muted")
                if not details:
                    ui.label(_missing_details(write)).classes("kw-muted kw-small")
                toggle = ui.button("Changes", icon="difference").props("flat dense size=sm data-testid=changes")
                toggle.set_visibility(bool(write.lines))
            if write.lines:
                block = ui.element("pre").classes("kw-diff").props("data-testid=diff")
                block.set_visibility(place in self._open)
                with block:
                    for line in write.lines:
                        sign = {"added": "+ ", "removed": "- ", "gap": "… "}.get(line.kind, "  ")
                        ui.label(f"{sign}{line.text}").classes(f"kw-diff-{line.kind}")
                toggle.on_click(lambda: self._toggle(place, block))

    def _toggle(self, place: str, block: ui.element) -> None:
        self._open ^= {place}
        block.set_visibility(place in self._open)


def _format_changes(write: WriteEntry) -> str:
    signs = {"add": "+", "remove": "-", "replace": "~"}
    return ", ".join(f"{signs[change.op]}{change.path}" for change in write.fields or ())


def _missing_details(write: WriteEntry) -> str:
    if write.failed:
        return ""
    return "no changes" if write.fields is not None else "the changes are no longer stored"
