"""The overview: the operator's work on the object, conditions with their history, and owned objects."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from nicegui import ui

from kubewright.console._object_view import ControllerStatus, ObjectView
from kubewright.console.objects import (
    Node,
    ReconcileEntry,
    State,
    conditions_of,
    count_conditions,
    queue_id,
    queue_text,
    redact_secret,
)
from kubewright.console.pages._addresses import object_address
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.object._timeline import operator_hint
from kubewright.console.pages.widgets import RelativeTimes, empty, link, section, state_mark
from kubewright.observe import QueueState

__all__ = ["OverviewTab"]

_LABELS_AT_MOST = 40


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
            for column in ((_Operator, _Conditions), (_Owned, _Metadata)):
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
        silent = bool(operators.controllers_of(view.kind.group, view.kind.kind))
        return status, view.ready, view.unlisted, silent, [operator.name for operator in operators]

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
            conditions = conditions_of(view.obj or {})
            if not conditions:
                empty("The status has no conditions.", picture="rule")
            for one in conditions:
                with ui.row().classes("kw-condition"):
                    with ui.column().classes("kw-condition-text"):
                        with ui.row().classes("kw-line"):
                            ui.label(one.type).classes("kw-strong")
                            ui.label(one.status).classes("kw-badge")
                            if one.reason:
                                ui.label(one.reason).classes("kw-muted")
                        if one.message:
                            ui.label(one.message).classes("kw-message")
                    if one.since is not None:
                        self.times.label(one.since).classes("kw-muted")
            _more(count_conditions(view.obj or {}) - len(conditions))
            history = view.backend.conditions.history(view.uid)
            if conditions or history:
                section("Condition history")
                noted = "Transitions are recorded while a page shows objects of this kind"
                ui.label(f"{noted}." if history else f"{noted}. None so far.").classes("kw-muted kw-small")
            if history:
                with ui.element("ol").classes("kw-history").props("data-testid=condition-history"):
                    for change in history:
                        with ui.element("li"), ui.row().classes("kw-line"):
                            self.times.label(change.at).classes("kw-muted kw-when")
                            ui.label(change.type).classes("kw-strong")
                            ui.label(f"{change.before or 'absent'} → {change.after or 'removed'}")
                            ui.label(change.reason).classes("kw-muted")


class _Owned(Tab):
    """The objects that it owns."""

    def content(self) -> Any:
        return self.view.tree, self.view.ready, self.view.unlisted

    def fill(self) -> None:
        """Draws the tree."""
        view = self.view
        with ui.column().classes("kw-card kw-box").props("data-testid=owned"):
            section("Owned objects")
            if not view.ready:
                ui.label("Loading…").classes("kw-muted")
            elif not view.tree.children:
                names = ", ".join(kind.plural for kind in view.searched[:8])
                empty("It owns no objects.", f"Searched: {names}." if names else "", "account_tree")
            else:
                with ui.element("ul").classes("kw-tree").props("role=tree"):
                    for node in view.tree.children:
                        self._node(node)
                if view.tree.truncated:
                    ui.label("Not all objects are shown.").classes("kw-muted")
            if view.ready and view.unlisted:
                names = ", ".join(kind.plural for kind in view.unlisted[:8])
                ui.label(f"Not shown, because you or the console may not list them: {names}.").classes(
                    "kw-muted kw-small"
                ).props("data-testid=unlisted")

    def _node(self, node: Node) -> None:
        with ui.element("li").props("role=treeitem"):
            with ui.row().classes("kw-node"):
                state_mark(node.health.state, tooltip=node.health.why)
                ui.label(node.kind.kind).classes("kw-muted")
                link(node.key.name, object_address(node.kind.path, node.key.namespace, node.key.name))
                ui.label(node.health.why).classes("kw-muted kw-small")
            if node.children:
                with ui.element("ul").props("role=group"):
                    for child in node.children:
                        self._node(child)


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
                    for key, value in [*values.items()][:_LABELS_AT_MOST]:
                        with ui.element("div").classes("kw-pair"):
                            ui.label(key).classes("kw-pair-name")
                            ui.label(_short(value)).classes("kw-pair-value")
                _more(len(values) - _LABELS_AT_MOST)


def _queue_id(status: ControllerStatus) -> object:
    return None if status.inspected is None else queue_id(status.inspected.inspection.queue)


def _queue_now(queue: QueueState, now: datetime) -> str:
    return queue_text(queue, now)[1]


def _more(number: int) -> None:
    """Shows how many entries are omitted."""
    if number > 0:
        ui.label(f"{number:,} more in the YAML.").classes("kw-muted kw-small").props("data-testid=more")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
