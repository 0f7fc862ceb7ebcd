"""`EditPage`: the base of the pages that create and change objects: form, buttons, review, rejections."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui

from kubewright.api import DecodeError
from kubewright.client import ApiError, Conflict
from kubewright.console.forms import Field, Writer, WriteResult, explain_rejection, fetch_schema, form_for
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import object_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages.edit._editor import Editor
from kubewright.console.pages.edit._review import Review, show_review
from kubewright.console.pages.layout import Shell
from kubewright.console.pages.widgets import notice

__all__ = ["EditPage"]


class EditPage:
    """One open form. `action` is the verb on the button."""

    action: str

    def __init__(self, ctx: PageContext, shell: Shell, kind: Kind) -> None:
        self.ctx = ctx
        self.shell = shell
        self.kind = kind
        record = ctx.backend.primary.audit.of(ctx.viewer.name, kind)
        self.writer = Writer(ctx.viewer.client, kind.resource, record)
        self.editor: Editor
        self.initial: dict[str, Any] = {}
        """The initial object. A user who has not changed it loses nothing by leaving the page."""
        self._unsaved = False

    async def form(self) -> Field:
        """Returns the form of the kind, from its definition or from the server's OpenAPI document."""
        kind = self.kind
        schema = kind.schema
        if schema is None and not kind.custom:
            schema = await fetch_schema(self.ctx.viewer.client, kind.group, kind.version, kind.kind)
        return form_for(kind.kind, schema, namespaced=kind.namespaced)

    def draw_editor(self, editor: Editor, back: str) -> None:
        """Draws the form with its YAML, and the bar with notices and buttons, which stays visible."""
        self.editor = editor
        self.initial = copy.deepcopy(editor.value)
        editor.draw()
        self.ctx.on_close(editor.close)
        with ui.element("div").classes("kw-actions").props("data-testid=bar"):
            self.notices = ui.element("div").classes("kw-form kw-bar-notices")
            self.change_notices = ui.element("div").classes("kw-form kw-bar-notices")
            self.button = ui.button(f"Review and {self.action} …", icon="difference", on_click=self.review)
            self.button.props("unelevated no-caps")
            ui.button("Cancel", on_click=lambda: self.leave(back)).props("flat no-caps")
            with ui.element("div").props("role=status"):
                self.jump = ui.element("button").classes("kw-jump").props("type=button data-testid=jump")
                with self.jump:
                    self.summary_label = ui.label("").classes("kw-error").props("data-testid=summary")
                self.jump.on("click", self.show_first_problem)
            self.reason = ui.label("").classes("kw-reason").props("data-testid=reason")
        editor.on_edit = self.edited
        self.edited()

    def edited(self) -> None:
        """Updates the summary after an edit."""
        self.summary_label.set_text(self.editor.summary())
        self.jump.set_visibility(bool(self.summary_label.text))
        needs = self.editor.needs_attention
        self.summary_label.classes(remove="kw-error kw-reason", add="kw-error" if needs else "kw-reason")
        self._set_unsaved(not self.editor.yaml_valid or self.editor.value != self.initial)

    def show_first_problem(self) -> None:
        """Scrolls to the first field with a problem, and focuses it."""
        self.editor.sync()
        element = self.editor.reveal_first_problem()
        if element is not None:
            self.shell.reveal(element)

    def leave(self, address: str) -> None:
        """Leaves the page. The browser asks first if changes would be lost."""
        self.editor.sync()  # includes the latest input
        ui.navigate.to(address)

    def _set_unsaved(self, unsaved: bool) -> None:
        if unsaved != self._unsaved:
            self._unsaved = unsaved
            self.shell.unsaved(unsaved)

    def target(self, namespace: str) -> str:
        """Returns the target of a write, for the confirmation: the namespace and the cluster."""
        return f"namespace {namespace} of {self.ctx.backend.name}" if namespace else self.ctx.backend.name

    def set_disabled_reason(self, reason: str) -> None:
        """Disables the button and shows the reason; enables it if there is none."""
        self.reason.set_text(reason)
        self.button.set_enabled(not reason)

    def show_notice(self, title: str, texts: Sequence[str], classes: str = "kw-bad") -> None:
        """Shows a notice in the bar, in place of the previous one."""
        self.notices.clear()
        with self.notices:
            notice(title, texts, classes).props("data-testid=notice")

    async def review(self) -> None:
        """Sends a dry run to the server, and shows the result."""
        self.editor.sync()
        self.editor.require_all()
        self.notices.clear()
        if not self.editor.yaml_valid:
            self.show_notice("The YAML is invalid", ["Fix it first. The form shows an older state."])
            return
        self.button.props("loading")
        try:
            await self.dry_run()
        except (ApiError, DecodeError, ValueError, LookupError, OSError) as error:
            self.show_rejection(error)
        finally:
            self.button.props(remove="loading")

    async def dry_run(self) -> None:
        """Sends a dry run, then calls `show`."""
        raise NotImplementedError

    def show(self, review: Review, write: Callable[[], Awaitable[WriteResult]]) -> None:
        """Shows the review, and writes after confirmation."""

        async def act() -> None:
            try:
                written = await write()
            except Conflict as error:
                dialog.close()
                await self.on_conflict(error)
            except (ApiError, DecodeError, ValueError, OSError) as error:
                dialog.close()
                self.show_rejection(error)
            else:
                metadata = (written.value or {}).get("metadata") or {}
                place = str(metadata.get("namespace") or "")
                self.shell.go(object_address(self.kind.path, place, str(metadata.get("name"))))

        dialog = show_review(review, act)

    def show_rejection(self, error: Exception) -> None:
        """Shows the messages of a rejected write, each at its field."""
        rejection = explain_rejection(error, self.editor.form, self.editor.value)
        unplaced = self.editor.show_rejection(rejection.problems)
        self.show_notice(rejection.title, [problem.message for problem in unplaced])

    async def on_conflict(self, error: Conflict) -> None:
        """Handles a write between review and apply."""
        self.show_rejection(error)
