"""The timeline: the last reconciles of an object, what woke them, what they wrote, and why they failed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nicegui import ui

from kubewright.console._look import Look, Told
from kubewright.console._states import State
from kubewright.console._timeline import Turn, Wrote, queue_text
from kubewright.console.pages._charts import durations_chart
from kubewright.console.pages._object_parts import Moments, Tab, banner, empty, section
from kubewright.console.pages._parts import icon, link, state_mark

__all__ = ["TimelineTab", "operator_hint"]


def operator_hint(look: Look) -> bool:
    """Say why nothing is known about what an operator does, if nothing is."""
    if look.told:
        return False
    if look.console.operators.tellers(look.kind.group, look.kind.kind):
        empty("You may not get this object.", "What the operator knows is for those who may.", "lock")
    elif len(look.console.operators):
        names = ", ".join(operator.name for operator in look.console.operators)
        empty(
            f"No operator tells about {look.kind.plural}.",
            f"Those that this console knows ({names}) do not reconcile them.",
            "support_agent",
        )
    else:
        empty(
            "No operator tells about this kind.",
            "Start it with --health-bind 127.0.0.1:8081, and this console with --operator 127.0.0.1:8081.",
            "support_agent",
        )
    return True


class TimelineTab(Tab):
    """For each controller of the kind: the queue, a chart, and the reconciles, the newest first."""

    def __init__(self, look: Look, moments: Moments) -> None:
        super().__init__(look, moments)
        self._open: set[str] = set()

    def content(self) -> Any:
        """What operators tell."""
        return [(told.problem, told.known and told.known.inspection.queue, told.turns) for told in self.look.told]

    def fill(self) -> None:
        """One part for each controller."""
        if operator_hint(self.look):
            return
        for told in self.look.told:
            self._part(told)

    def _part(self, told: Told) -> None:
        teller = told.teller
        with ui.row().classes("kw-line"):
            section(f"Controller {teller.controller.name}")
            ui.label("of").classes("kw-muted")
            link(teller.operator.name, "/operator")
        if told.problem:
            banner(told.problem, "failing", "cloud_off")
            return
        if told.known is None:
            empty("It has not reconciled this object, or not for long.", picture="history")
            return
        queue = told.known.inspection.queue
        state, _ = queue_text(queue, datetime.now(UTC))
        with ui.row().classes("kw-card kw-box kw-line").props("data-testid=queue"):
            state_mark(state, queue.state)
            self.moments.label(None, lambda now: queue_text(queue, now)[1])
            if queue.trigger:
                cause = f" ({queue.cause})" if queue.cause else ""
                ui.label(f"· woken by {queue.trigger}{cause}").classes("kw-muted")
        if len(told.turns) > 1:
            durations_chart(told.turns)
        with ui.element("ol").classes("kw-turns").props("data-testid=turns"):
            for turn in told.turns:
                self._turn(turn)

    def _turn(self, turn: Turn) -> None:
        record = turn.record
        with ui.element("li").classes("kw-turn kw-card").props("data-testid=turn"):
            with ui.row().classes("kw-line"):
                state_mark(turn.state, turn.text)
                self.moments.label(record.ended_at).classes("kw-muted")
                ui.space()
                if record.trace:
                    ui.label(record.trace[:8]).classes("kw-mono kw-muted").tooltip(f"trace {record.trace}")
            waited = (record.began_at - record.woken_at).total_seconds()
            with ui.row().classes("kw-line kw-muted"):
                ui.label(f"Woken by {turn.why or 'somebody'}")
                if waited >= 0.001:
                    ui.label(f"· waited {waited:.3f} s for a worker")
            if record.error:
                ui.label(record.error).classes("kw-error kw-mono").props("data-testid=turn-error")
            for number, wrote in enumerate(turn.writes):
                self._write(turn, number, wrote)
            if record.more_writes:
                ui.label(f"and {record.more_writes} more writes").classes("kw-muted")
            if not turn.writes and turn.state is State.READY:
                ui.label("It wrote nothing: everything was as it should be.").classes("kw-muted kw-small")

    def _write(self, turn: Turn, number: int, wrote: Wrote) -> None:
        details = wrote.lines or wrote.fields
        place = f"{turn.id} {number}"
        with ui.column().classes("kw-write").props("data-testid=write"):
            with ui.row().classes("kw-line"):
                icon("edit_note").classes("kw-muted")
                ui.label(wrote.text)
                ui.label(wrote.answer).classes("kw-badge kw-failing" if wrote.failed else "kw-badge")
                if wrote.lines is None and wrote.fields:
                    ui.label(_paths(wrote)).classes("kw-mono kw-small kw-muted")
                if not details:
                    ui.label(_nothing(wrote)).classes("kw-muted kw-small")
                toggle = ui.button("Changes", icon="difference").props("flat dense size=sm data-testid=changes")
                toggle.set_visibility(bool(wrote.lines))
            if wrote.lines:
                block = ui.element("pre").classes("kw-diff").props("data-testid=diff")
                block.set_visibility(place in self._open)
                with block:
                    for line in wrote.lines:
                        sign = {"added": "+ ", "removed": "- ", "gap": "… "}.get(line.kind, "  ")
                        ui.label(f"{sign}{line.text}").classes(f"kw-diff-{line.kind}")
                toggle.on_click(lambda: self._toggle(place, block))

    def _toggle(self, place: str, block: ui.element) -> None:
        self._open ^= {place}
        block.set_visibility(place in self._open)


def _paths(wrote: Wrote) -> str:
    signs = {"add": "+", "remove": "-", "replace": "~"}
    return ", ".join(f"{signs[change.op]}{change.path}" for change in wrote.fields or ())


def _nothing(wrote: Wrote) -> str:
    if wrote.failed:
        return ""
    return "changed nothing" if wrote.fields is not None else "what it changed is not known any more"
