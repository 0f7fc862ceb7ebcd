"""Bulk actions on the selected rows of a list: a preview, a confirmation, and the result for each object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from nicegui import ui

from kubewright.console.actions import MAX_OBJECTS, BulkChange, BulkKind, BulkResult, Target, denied, run_bulk
from kubewright.console.forms import Writer
from kubewright.console.kinds import Kind
from kubewright.console.pages._context import PageContext
from kubewright.console.pages.widgets import icon, labeled

__all__ = ["SelectionBar"]

_SHOWN: Final = 100
_TITLES: Final[dict[BulkKind, tuple[str, str]]] = {
    "labels": ("Label", "label"),
    "annotations": ("Annotate", "sticky_note_2"),
    "delete": ("Delete", "delete"),
}


class SelectionBar:
    """The buttons for the selected rows. Hidden while nothing is selected."""

    def __init__(self, ctx: PageContext, kind: Kind, targets: Callable[[Sequence[str]], list[Target]]) -> None:
        """Creates the bar. `targets` returns the objects of the rows with these IDs."""
        self._ctx = ctx
        self._kind = kind
        self._targets = targets
        self._ids: list[str] = []

    def draw(self) -> None:
        """Draws the hidden bar."""
        self._row = ui.row().classes("kw-toolbar kw-selection").props("role=group data-testid=selection")
        labeled(self._row, "Selected objects")
        with self._row:
            self._count = ui.label("")
            for what, (title, picture) in _TITLES.items():
                if ("delete" if what == "delete" else "patch") in self._kind.verbs:
                    button = ui.button(f"{title} …", icon=picture, on_click=partial(self._ask, what))
                    button.props("flat dense no-caps")
        self._dialogs = ui.element("div")
        self._row.set_visibility(False)

    def show(self, ids: Sequence[str]) -> None:
        """Shows how many rows are selected."""
        self._ids = [*ids]
        more = f", the first {MAX_OBJECTS:,} are used" if len(ids) > MAX_OBJECTS else ""
        self._count.set_text(f"{len(ids):,} selected{more}")
        self._row.set_visibility(bool(ids) and not self._ctx.viewer.read_only)

    def _ask(self, what: BulkKind) -> None:
        targets = self._targets(self._ids[:MAX_OBJECTS])
        self._dialogs.clear()
        if targets:
            with self._dialogs:
                _Dialog(self._ctx, self._kind, what, targets).draw()


class _Dialog:
    """The dialog of one bulk change."""

    def __init__(
        self,
        ctx: PageContext,
        kind: Kind,
        what: BulkKind,
        targets: list[Target],
    ) -> None:
        self._ctx = ctx
        self._kind = kind
        self._what: BulkKind = what
        self._targets = targets
        self._denied: set[Target] = set()
        self._busy = False

    def draw(self) -> None:
        """Draws the open dialog."""
        title, picture = _TITLES[self._what]
        count = len(self._targets)
        objects = f"{count:,} {self._kind.plural if count > 1 else self._kind.singular}"
        with ui.dialog(value=True) as self._dialog, ui.card().classes("kw-bulk").props("data-testid=bulk"):
            labeled(self._dialog, f"{title} {objects}")
            with ui.element("h2").classes("kw-section"):
                ui.label(f"{title} {objects} in {self._ctx.backend.name}")
            self._fields()
            self._problem = ui.label("").classes("kw-error").props("role=alert data-testid=bulk-problem")
            self._list = ui.element("ul").classes("kw-bulk-list").props("tabindex=0 data-testid=bulk-list")
            labeled(self._list, "Preview")
            with ui.row().classes("items-center gap-2"):
                self._button = ui.button(title, icon=picture, on_click=self._run).props("unelevated dense no-caps")
                self._close = ui.button("Cancel", on_click=self._dialog.close).props("flat dense no-caps")
                self._progress = ui.label("").props("role=status data-testid=bulk-progress").classes("kw-muted")
        self._preview()
        ui.timer(0, self._check, once=True)

    def _fields(self) -> None:
        self._typed = self._key = self._value = self._remove = None
        inputs = "outlined dense stack-label hide-bottom-space autocomplete=off spellcheck=false"
        if self._what == "delete":
            ui.label("Deletes the objects, then the objects that they own (propagation policy Background).")
            count = str(len(self._targets))
            self._typed = ui.input(f"Type {count} to delete {'it' if count == '1' else 'them'}").props(inputs)
            labeled(self._typed, "Number of objects to delete")
            self._typed.on_value_change(self._update)
            return
        with ui.row().classes("items-center gap-2"):
            self._key = ui.input("Key").props(inputs)
            self._value = ui.input("Value").props(inputs)
            self._remove = ui.checkbox("Remove the key")
        for widget in (self._key, self._value, self._remove):
            widget.on_value_change(self._preview)

    def _change(self) -> BulkChange:
        if self._key is None or self._value is None or self._remove is None:
            return BulkChange("delete")
        value = None if self._remove.value else self._value.value or ""
        return BulkChange(self._what, (self._key.value or "").strip(), value)

    async def _check(self) -> None:
        """Asks the API server which objects the viewer may change."""
        self._denied = await denied(self._ctx.viewer, self._kind, self._change(), self._targets)
        self._preview()

    def _affected(self) -> list[Target]:
        change = self._change()
        return [one for one in self._targets if one not in self._denied and change.preview(one)]

    def _preview(self) -> None:
        change = self._change()
        problem = change.problem()
        self._problem.set_text(f"Key or value: {problem}" if problem and change.key else "")
        verb = f"you may not change it: you need the verb “{change.verb}”"
        lines = [(one, verb if one in self._denied else change.preview(one) or "no change") for one in self._targets]
        self._draw([(str(one), text, "lock" if one in self._denied else "") for one, text in lines])
        self._update()

    def _draw(self, lines: Sequence[tuple[str, str, str]]) -> None:
        self._list.clear()
        with self._list:
            for name, text, picture in lines[:_SHOWN]:
                with ui.element("li"):
                    if picture:
                        icon(picture)
                    ui.label(f"{name}: {text}").style("display: inline")
            if len(lines) > _SHOWN:
                with ui.element("li"):
                    ui.label(f"and {len(lines) - _SHOWN:,} more")

    def _update(self) -> None:
        self._button.set_enabled(self._confirmed)

    @property
    def _confirmed(self) -> bool:
        typed: Any = self._typed
        named = typed is None or (typed.value or "").strip() == str(len(self._targets))
        return not self._busy and named and not self._change().problem() and bool(self._affected())

    async def _run(self) -> None:
        if not self._confirmed:  # a browser can send events that its page does not offer
            return
        self._busy = True
        self._button.props("loading").disable()
        targets, change = self._affected(), self._change()
        record = self._ctx.backend.primary.audit.of(self._ctx.viewer.name, self._kind)
        writer = Writer(self._ctx.viewer.client, self._kind.resource, record)

        def progress(done: int) -> None:
            self._progress.set_text(f"{done:,} of {len(targets):,}")

        results = await run_bulk(writer, change, targets, progress)
        self._button.props(remove="loading")
        self._show(change, results)

    def _show(self, change: BulkChange, results: Sequence[BulkResult]) -> None:
        failed = [one for one in results if one.error]
        word = "deleted" if change.what == "delete" else "changed"
        labeled(self._list, "Results")
        lines = [(str(one.target), f"failed: {one.error}", "error") for one in failed]
        lines += [(str(one.target), word, "") for one in results if not one.error]
        self._draw(lines)
        text = f"{len(results) - len(failed):,} {word}" + (f", {len(failed):,} failed" if failed else "")
        self._progress.set_text(text)
        self._close.set_text("Close")
        if failed:  # offers a retry of the failed ones
            self._targets, self._busy = [one.target for one in failed], False
            self._button.set_text("Retry")
        self._button.set_visibility(bool(failed))
        if self._typed is not None and failed:
            self._typed.set_value(str(len(failed)))
        self._update()
