"""The overview: the operator's work on the object, conditions with their history, the owner graph, and the fields."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from nicegui import ui

from kubewright.api import Selector, SelectorError
from kubewright.console._object_view import ControllerStatus, ObjectView
from kubewright.console.objects import (
    Concern,
    Condition,
    ReconcileEntry,
    State,
    conditions_of,
    count_conditions,
    problems_first,
    queue_id,
    queue_text,
    redact_secret,
)
from kubewright.console.pages._addresses import ListView
from kubewright.console.pages.object._facts import FactsCard
from kubewright.console.pages.object._graph import GraphCard
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.object._timeline import operator_hint
from kubewright.console.pages.widgets import RelativeTimes, empty, icon, section, state_mark
from kubewright.observe import QueueState

__all__ = ["OverviewTab"]

_MAX_LABELS = 40
_SHOWN_CONDITIONS = 3
_MESSAGE_LENGTH = 300
_CONCERNS: Final = {
    Concern.PROBLEM: ("error", "kw-failing"),
    Concern.UNKNOWN: ("help", "kw-unknown"),
    Concern.NONE: ("check_circle", "kw-ready"),
}


class OverviewTab(Tab):
    """Cards that are redrawn separately.

    A change in one card does not affect the text that is selected in another.
    """

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        super().__init__(view, times)
        self._cards: list[Tab] = []

    def content(self) -> Any:
        """Returns whether there is an object."""
        return self.view.obj is not None

    def fill(self) -> None:
        """Draws two columns in a wide window, one on a phone."""
        self._cards = []
        if self.view.obj is None:
            return
        with ui.element("div").classes("kw-columns"):
            for column in ((_Operator, _Conditions), (GraphCard, FactsCard, _Metadata)):
                with ui.column().classes("kw-column"):
                    for make in column:
                        card: Tab = make(self.view, self.times)
                        card.draw()
                        self._cards.append(card)

    async def update(self) -> None:
        """Updates each card."""
        await super().update()
        for card in self._cards:
            await card.update()


class _Operator(Tab):
    """The operator's current work on the object."""

    def content(self) -> Any:
        view = self.view
        status = [
            (status.problem, _queue_id(status), [entry.id for entry in status.entries[:1]])
            for status in view.controllers
        ]
        operators = view.backend.operators
        reconciled = bool(operators.controllers_of(view.kind.group, view.kind.kind))
        return status, view.ready, view.unlisted, reconciled, [operator.name for operator in operators]

    def _trigger_of(self, entry: ReconcileEntry) -> str:
        """Names the object that caused the reconcile, unless the viewer may not list its kind."""
        kind = entry.record.trigger.partition(" ")[0]
        named = self.view.ready and kind not in {each.kind for each in self.view.unlisted}
        return entry.why if named or not entry.record.cause else entry.record.trigger

    def fill(self) -> None:
        """Draws one paragraph per controller."""
        with ui.column().classes("kw-card kw-box").props("data-testid=why"):
            section("Reconciliation")
            if operator_hint(self.view):
                return
            for status in self.view.controllers:
                controller = status.ref.controller.name
                if status.inspected is None:
                    text = status.problem or f"Controller {controller} has not reconciled this object yet."
                    state_mark(State.UNKNOWN, text)
                    continue
                inspection = status.inspected.inspection
                state, text = queue_text(inspection.queue, datetime.now(UTC))
                with ui.row().classes("kw-line"):
                    state_mark(state, f"{controller}:")
                    self.times.label(None, partial(_queue_now, inspection.queue))
                if status.entries:
                    entry = status.entries[0]
                    with ui.row().classes("kw-line"):
                        state_mark(entry.state, f"Last reconcile {entry.text}")
                        self.times.label(entry.record.ended_at)
                    ui.label(f"Trigger: {self._trigger_of(entry)}").classes("kw-muted")
                    if entry.record.error:
                        ui.label(entry.record.error).classes("kw-error kw-mono")


class _Conditions(Tab):
    """The conditions of the status, and their history."""

    def content(self) -> Any:
        view = self.view
        return conditions_of(view.obj or {}), view.backend.conditions.history(view.uid)

    def fill(self) -> None:
        """Draws the current conditions and the transitions."""
        view = self.view
        with ui.column().classes("kw-card kw-box").props("data-testid=conditions"):
            section("Conditions")
            conditions = problems_first(conditions_of(view.obj or {}))
            if not conditions:
                empty("The status has no conditions.", picture="rule")
            shown, folded = _split_conditions(conditions)
            for one in shown:
                self._condition(one)
            if folded:
                with self.details("folded").props("data-testid=folded-conditions"):
                    with ui.element("summary"):
                        ui.label(f"{len(folded):,} more without a problem")
                    for one in folded:
                        self._condition(one)
            _draw_omitted(count_conditions(view.obj or {}) - len(conditions))
            history = view.backend.conditions.history(view.uid)
            if conditions or history:
                section("Condition history")
                note = "Transitions are recorded while a page shows objects of this kind"
                ui.label(f"{note}." if history else f"{note}. None so far.").classes("kw-muted kw-small")
            if history:
                with ui.element("ol").classes("kw-history").props("data-testid=condition-history"):
                    for change in history:
                        with ui.element("li"), ui.row().classes("kw-line"):
                            self.times.label(change.at).classes("kw-muted kw-when")
                            ui.label(change.type).classes("kw-strong")
                            ui.label(f"{change.before or 'absent'} → {change.after or 'removed'}")
                            ui.label(change.reason).classes("kw-muted")

    def _condition(self, one: Condition) -> None:
        with ui.row().classes("kw-condition"):
            with ui.column().classes("kw-condition-text"):
                with ui.row().classes("kw-line"):
                    picture, color = _CONCERNS[one.concern]
                    icon(picture).classes(color)
                    ui.label(one.type).classes("kw-strong")
                    ui.label(one.status).classes("kw-badge").classes(color)
                    if one.reason:
                        ui.label(one.reason).classes("kw-muted")
                if len(one.message) > _MESSAGE_LENGTH:
                    with self.details(f"message of {one.type}"):
                        with ui.element("summary"):
                            ui.label(f"{one.message[:_MESSAGE_LENGTH]}…").classes("kw-message")
                        ui.label(one.message).classes("kw-message")
                elif one.message:
                    ui.label(one.message).classes("kw-message")
            if one.since is not None:
                self.times.label(one.since).classes("kw-muted")


class _Metadata(Tab):
    """Labels and annotations."""

    def content(self) -> Any:
        metadata = (self.view.obj or {}).get("metadata") or {}
        return metadata.get("labels"), metadata.get("annotations")

    def fill(self) -> None:
        """Draws the pairs, if there are any."""
        metadata = redact_secret(self.view.obj or {}).get("metadata") or {}
        shown = [(name, metadata.get(name)) for name in ("labels", "annotations")]
        pairs = [(name, values) for name, values in shown if isinstance(values, dict) and values]
        if not pairs:
            return
        with ui.column().classes("kw-card kw-box"):
            for name, values in pairs:
                section(name.capitalize())
                with ui.element("div").classes("kw-pairs"):
                    for key, value in [*values.items()][:_MAX_LABELS]:
                        with self._pair(f"{key}={value}" if name == "labels" else ""):
                            ui.label(key).classes("kw-pair-name")
                            ui.label(_shorten(value)).classes("kw-pair-value")
                _draw_omitted(len(values) - _MAX_LABELS)

    def _pair(self, selector: str) -> ui.element:
        """Draws the chip of a pair: for a label, a link to the objects that have it."""
        try:
            valid = bool(selector and Selector.parse(selector))
        except SelectorError:
            valid = False
        if not valid:
            return ui.element("div").classes("kw-pair")
        address = ListView(self.view.key.namespace, labels=selector).address(self.view.kind.path)
        made = ui.link(target=address).classes("kw-pair kw-pair-link")
        made.props["title"] = f"List {self.view.kind.plural} with {selector}"
        return made


def _split_conditions(conditions: list[Condition]) -> tuple[list[Condition], list[Condition]]:
    """Returns the conditions to show, and those that are folded: all without a problem, if there is one."""
    problems = [one for one in conditions if one.concern is not Concern.NONE]
    shown = problems or conditions[:_SHOWN_CONDITIONS]
    return shown, conditions[len(shown) :]


def _queue_id(status: ControllerStatus) -> object:
    return None if status.inspected is None else queue_id(status.inspected.inspection.queue)


def _queue_now(queue: QueueState, now: datetime) -> str:
    return queue_text(queue, now)[1]


def _draw_omitted(number: int) -> None:
    """Shows how many entries are omitted."""
    if number > 0:
        ui.label(f"{number:,} more in the YAML.").classes("kw-muted kw-small").props("data-testid=more")


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
