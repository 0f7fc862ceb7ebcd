"""The overview: what the operator does with the object now, its conditions with their history, and what it owns."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

from nicegui import ui

from kubewright.console._conditions import conditions_of, number_of_conditions
from kubewright.console._look import Look, Told
from kubewright.console._masks import masked
from kubewright.console._owned import Node
from kubewright.console._states import State
from kubewright.console._timeline import Turn, queue_id, queue_text
from kubewright.console.pages._object_parts import Moments, Tab, empty, section
from kubewright.console.pages._object_timeline import operator_hint
from kubewright.console.pages._parts import link, state_mark
from kubewright.console.pages._view import object_address
from kubewright.observe import QueueState

__all__ = ["OverviewTab"]

_LABELS_AT_MOST = 40


class OverviewTab(Tab):
    """What most people come for: cards, of which each is drawn anew only when it shows something else.

    So what somebody reads or has selected in one of them stays when another one changes.
    """

    def __init__(self, look: Look, moments: Moments) -> None:
        super().__init__(look, moments)
        self._cards: list[Tab] = []

    def content(self) -> Any:
        """Whether there is anything to show."""
        return self.look.obj is not None

    def fill(self) -> None:
        """Two columns on a wide window, one on a phone."""
        self._cards = []
        if self.look.obj is None:
            return
        with ui.element("div").classes("kw-columns"):
            for column in ((_Operator, _Conditions), (_Owned, _Metadata)):
                with ui.column().classes("kw-column"):
                    for make in column:
                        card: Tab = make(self.look, self.moments)
                        card.draw()
                        self._cards.append(card)

    async def update(self) -> None:
        """Each card by itself."""
        await super().update()
        for card in self._cards:
            await card.update()


class _Operator(Tab):
    """What the operator does with it now."""

    def content(self) -> Any:
        look = self.look
        told = [(told.problem, _queue_id(told), [turn.id for turn in told.turns[:1]]) for told in look.told]
        operators = look.console.operators
        silent = bool(operators.tellers(look.kind.group, look.kind.kind))
        return told, look.ready, look.unlisted, silent, [operator.name for operator in operators]

    def _woken_by(self, turn: Turn) -> str:
        """Names the object that caused the reconcile, unless the viewer may not list its kind."""
        kind = turn.record.trigger.partition(" ")[0]
        named = self.look.ready and kind not in {each.kind for each in self.look.unlisted}
        return turn.why if named or not turn.record.cause else turn.record.trigger

    def fill(self) -> None:
        """One paragraph for each controller."""
        with ui.column().classes("kw-card kw-box").props("data-testid=why"):
            section("Why it is so")
            if operator_hint(self.look):
                return
            for told in self.look.told:
                controller = told.teller.controller.name
                if told.known is None:
                    text = told.problem or f"Controller {controller} has not reconciled it yet."
                    state_mark(State.UNKNOWN, text)
                    continue
                inspection = told.known.inspection
                state, text = queue_text(inspection.queue, datetime.now(UTC))
                with ui.row().classes("kw-line"):
                    state_mark(state, f"{controller}:")
                    self.moments.label(None, partial(_queue_now, inspection.queue))
                if told.turns:
                    turn = told.turns[0]
                    with ui.row().classes("kw-line"):
                        state_mark(turn.state, f"Last reconcile {turn.text}")
                        self.moments.label(turn.record.ended_at)
                    ui.label(f"Woken by: {self._woken_by(turn)}").classes("kw-muted")
                    if turn.record.error:
                        ui.label(turn.record.error).classes("kw-error kw-mono")


class _Conditions(Tab):
    """What its status says, and said."""

    def content(self) -> Any:
        look = self.look
        return conditions_of(look.obj or {}), look.console.conditions.history(look.uid)

    def fill(self) -> None:
        """Now, and before."""
        look = self.look
        with ui.column().classes("kw-card kw-box").props("data-testid=conditions"):
            section("Conditions")
            conditions = conditions_of(look.obj or {})
            if not conditions:
                empty("Its status has no conditions.", picture="rule")
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
                        self.moments.label(one.since).classes("kw-muted")
            _more(number_of_conditions(look.obj or {}) - len(conditions))
            history = look.console.conditions.history(look.uid)
            if conditions or history:
                section("What they were")
                noted = "Changes are noted here while somebody looks at objects of this kind"
                ui.label(f"{noted}." if history else f"{noted}: none so far.").classes("kw-muted kw-small")
            if history:
                with ui.element("ol").classes("kw-history").props("data-testid=condition-history"):
                    for change in history:
                        with ui.element("li"), ui.row().classes("kw-line"):
                            self.moments.label(change.at).classes("kw-muted kw-when")
                            ui.label(change.type).classes("kw-strong")
                            ui.label(f"{change.before or 'not there'} → {change.after or 'gone'}")
                            ui.label(change.reason).classes("kw-muted")


class _Owned(Tab):
    """What it owns."""

    def content(self) -> Any:
        return self.look.tree, self.look.ready, self.look.unlisted

    def fill(self) -> None:
        """A tree."""
        look = self.look
        with ui.column().classes("kw-card kw-box").props("data-testid=owned"):
            section("What it owns")
            if not look.ready:
                ui.label("Looking…").classes("kw-muted")
            elif not look.tree.children:
                names = ", ".join(kind.plural for kind in look.searched[:8])
                empty("It owns nothing.", f"Looked for: {names}." if names else "", "account_tree")
            else:
                with ui.element("ul").classes("kw-tree").props("role=tree"):
                    for node in look.tree.children:
                        self._node(node)
                if look.tree.cut:
                    ui.label("There is more than is shown here.").classes("kw-muted")
            if look.ready and look.unlisted:
                names = ", ".join(kind.plural for kind in look.unlisted[:8])
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
        metadata = (self.look.obj or {}).get("metadata") or {}
        return metadata.get("labels"), metadata.get("annotations")

    def fill(self) -> None:
        """Pairs; nothing where there are none."""
        metadata = masked(self.look.obj or {}).get("metadata") or {}
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


def _queue_id(told: Told) -> object:
    return None if told.known is None else queue_id(told.known.inspection.queue)


def _queue_now(queue: QueueState, now: datetime) -> str:
    return queue_text(queue, now)[1]


def _more(number: int) -> None:
    """Tell of what is not shown."""
    if number > 0:
        ui.label(f"{number:,} more in the YAML.").classes("kw-muted kw-small").props("data-testid=more")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
