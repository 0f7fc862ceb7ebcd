"""The review: the result of a dry run, shown before anything is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from nicegui import ui

from kubewright.console.forms import DiffLine, FieldOwner, format_path
from kubewright.console.pages.widgets import icon, notice
from kubewright.counts import counted

__all__ = ["Review", "show_review"]

_SIGNS: Final = {"added": "+", "removed": "-", "same": " ", "gap": "⋮"}
_MAX_LINES: Final = 2000


@dataclass(frozen=True)
class Review:
    """The content of the review dialog."""

    title: str
    verb: str
    """The label of the button."""
    lines: Sequence[DiffLine]
    warnings: Sequence[str] = ()
    owners: Sequence[FieldOwner] = field(default=())
    """Other field managers that own changed fields."""
    target: str = ""
    """The target of the write: the namespace and the cluster."""


def show_review(review: Review, write: Callable[[], Awaitable[object]]) -> ui.dialog:
    """Shows the dialog. Calls `write` after confirmation; the caller closes the dialog."""
    with ui.dialog() as dialog, ui.card().classes("kw-review"):
        dialog.props["aria-label"] = review.title
        with ui.element("h2").classes("kw-title"):
            ui.label(review.title)
        if not review.lines:
            ui.label("The server would change nothing.").classes("kw-muted")
        else:
            ui.label("This is the result of a dry run. Nothing has been written.").classes("kw-muted")
            if review.target:
                ui.label(f"{review.verb} writes to {review.target}.").props("data-testid=place")
            _draw_lines(review.lines)
        if review.warnings:
            notice("The server returned warnings", review.warnings, "kw-warn")
        force = _draw_owners(review.owners) if review.owners else None
        with ui.row().classes("w-full justify-end gap-2"):
            ui.button("Back", on_click=dialog.close).props("flat no-caps")

            async def act() -> None:
                if not apply.enabled or (force is not None and not force.value):
                    return
                apply.props("loading").disable()  # prevents a second click
                try:
                    await write()
                finally:
                    apply.props(remove="loading")

            apply = ui.button(review.verb, on_click=act).props("unelevated no-caps")
            apply.set_enabled(bool(review.lines) and force is None)
            if force is not None:
                force.on_value_change(lambda: apply.set_enabled(bool(force.value and review.lines)))
    dialog.open()
    return dialog


def _draw_owners(owners: Sequence[FieldOwner]) -> ui.checkbox:
    with ui.element("div").classes("kw-notice kw-bad").props("role=alert data-testid=conflict"):
        ui.label("Other field managers own these fields").classes("kw-notice-title")
        for owner in owners:
            how = {"Apply": "applied", "Update": "updated"}.get(owner.operation, "set")
            when = f" at {owner.time}" if owner.time else ""
            ui.label(f"{format_path(owner.path)}: {how} by {owner.manager}{when}")
        ui.label("They may overwrite your values, or fail with a conflict on their next apply.").classes("kw-reason")
        return ui.checkbox("Take over these fields")


def _draw_lines(lines: Sequence[DiffLine]) -> None:
    """Draws a YAML diff, and marks the lines that the server changed."""
    with ui.element("div").classes("kw-diff").props("tabindex=0 role=region aria-label=Changes data-testid=diff"):
        for line in lines[:_MAX_LINES]:
            with ui.element("div").classes("kw-diff-line").classes(f"kw-diff-{line.kind}"):
                ui.label(_SIGNS[line.kind]).classes("kw-sign")
                ui.label(line.text)
                if line.by_server:
                    ui.label("by the server").classes("kw-by-server")
        if len(lines) > _MAX_LINES:
            with ui.row():
                icon("more_horiz")
                ui.label(f"and {counted(len(lines) - _MAX_LINES, 'more line')}")
