"""The timeline: the last reconciles of an object, what woke them, what they wrote, and why they failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from nicegui import ui

from kubewright.console._look import Look, Told
from kubewright.console._states import State
from kubewright.console._timeline import Turn, Wrote, queue_id, queue_text
from kubewright.console.pages._charts import durations_chart, durations_options
from kubewright.console.pages._object_parts import Moments, Tab, banner, empty, section
from kubewright.console.pages._parts import icon, link, state_mark
from kubewright.durations import format_duration
from kubewright.observe import QueueState

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
        self._parts: list[_Part] = []

    def content(self) -> Any:
        """Which controllers tell something: what they tell is brought up to date in its place."""
        return [(told.teller.controller.name, told.problem, told.known is None) for told in self.look.told]

    def fill(self) -> None:
        """One part for each controller."""
        self._parts = []
        if operator_hint(self.look):
            return
        for told in self.look.told:
            with ui.row().classes("kw-line"):
                section(f"Controller {told.teller.controller.name}")
                ui.label("of").classes("kw-muted")
                link(told.teller.operator.name, "/operator")
            if told.problem:
                banner(told.problem, "failing", "cloud_off")
            elif told.known is None:
                empty("It has not reconciled this object, or not for long.", picture="history")
            else:
                self._parts.append(_Part(told, self.moments, self._open))

    async def update(self) -> None:
        """New turns take their place; the chart stays where it is."""
        await super().update()
        for part, told in zip(self._parts, [one for one in self.look.told if one.known is not None], strict=False):
            part.update(told)


class _Part:
    """What one controller tells."""

    def __init__(self, told: Told, moments: Moments, opened: set[str]) -> None:
        self.moments = moments
        self._open = opened
        self._shown: tuple[Any, Any] = (None, None)
        self._queue = ui.row().classes("kw-card kw-box kw-line").props("data-testid=queue")
        self._chart = durations_chart(told.turns)
        self._turns = ui.element("ol").classes("kw-turns").props("data-testid=turns")
        self._items: dict[str, ui.element] = {}
        self.update(told)

    def update(self, told: Told) -> None:
        """Draw what is different."""
        assert told.known is not None
        queue, turns = told.known.inspection.queue, told.turns
        shown = (queue_id(queue), [turn.id for turn in turns])
        if shown[0] != self._shown[0]:
            self._queue.clear()
            with self._queue:
                self._place(queue)
        if shown[1] != self._shown[1]:
            self._chart.options.update(durations_options(turns))
            self._chart.update()
            self._arrange(turns)
        self._shown = shown

    def _arrange(self, turns: Sequence[Turn]) -> None:
        """Add what is new and take away what is old; the rest stays, under the pointer of whoever is about to click."""
        for old in self._items.keys() - {turn.id for turn in turns}:
            self._items.pop(old).delete()
        for place, turn in enumerate(turns):
            if turn.id not in self._items:
                with self._turns:
                    self._items[turn.id] = self._turn(turn)
                self._items[turn.id].move(target_index=place)

    def _place(self, queue: QueueState) -> None:
        state, _ = queue_text(queue, datetime.now(UTC))
        state_mark(state, queue.state)
        self.moments.label(None, lambda now: queue_text(queue, now)[1])
        if queue.trigger:
            cause = f" ({queue.cause})" if queue.cause else ""
            ui.label(f"· woken by {queue.trigger}{cause}").classes("kw-muted")

    def _turn(self, turn: Turn) -> ui.element:
        record = turn.record
        with ui.element("li").classes("kw-turn kw-card").props("data-testid=turn") as item:
            with ui.row().classes("kw-line"):
                state_mark(turn.state, turn.text)
                self.moments.label(record.ended_at).classes("kw-muted")
                ui.space()
                if record.trace:
                    ui.label(record.trace[:8]).classes("kw-mono kw-muted").tooltip(f"trace {record.trace}")
            waited = (record.began_at - record.woken_at).total_seconds()
            with ui.row().classes("kw-line kw-muted"):
                ui.label(f"Woken by {turn.why}")
                if waited >= 0.001:
                    ui.label(f"· waited {format_duration(waited)} for a worker")
            if record.error:
                ui.label(record.error).classes("kw-error kw-mono").props("data-testid=turn-error")
            for number, wrote in enumerate(turn.writes):
                self._write(turn, number, wrote)
            if record.more_writes:
                ui.label(f"and {record.more_writes} more writes").classes("kw-muted")
            if not turn.writes and turn.state is State.READY:
                ui.label("It wrote nothing: everything was as it should be.").classes("kw-muted kw-small")
        return item

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
    return "changed nothing" if wrote.fields is not None else "what it changed is not kept"
