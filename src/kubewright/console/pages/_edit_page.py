"""What the pages that create and change objects share: the form, the buttons, the review, and what a server refuses."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui

from kubewright.api import DecodeError
from kubewright.client import ApiError, Conflict
from kubewright.console._kinds import Kind
from kubewright.console._visits import Visit
from kubewright.console.forms import Field, Writer, Written, form_of, problems_in, served_schema
from kubewright.console.pages._edit_editor import Editor
from kubewright.console.pages._edit_review import Review, notice, show_review
from kubewright.console.pages._keys import Shell
from kubewright.console.pages._view import object_address

__all__ = ["EditPage"]


class EditPage:
    """One browser's form. `action` is what the button does."""

    action: str

    def __init__(self, visit: Visit, shell: Shell, kind: Kind) -> None:
        self.visit = visit
        self.shell = shell
        self.kind = kind
        record = visit.console.first.audit.of(visit.viewer.name, kind)
        self.writer = Writer(visit.viewer.client, kind.resource, record)
        self.editor: Editor
        self.begun: dict[str, Any] = {}
        """What stood there before anything was typed: nobody would miss it."""
        self._unsaved = False

    async def form(self) -> Field:
        """The form of the kind: from its definition, or from the server's document."""
        kind = self.kind
        schema = kind.schema
        if schema is None and not kind.custom:
            schema = await served_schema(self.visit.viewer.client, kind.group, kind.version, kind.kind)
        return form_of(kind.kind, schema, namespaced=kind.namespaced)

    def draw_editor(self, editor: Editor, back: str) -> None:
        """What is told, the form with its YAML, and the buttons."""
        self.editor = editor
        self.begun = copy.deepcopy(editor.value)
        self.notices = ui.element("div").classes("kw-form")
        self.news = ui.element("div").classes("kw-form")
        editor.draw()
        self.visit.on_leave(editor.close)
        with ui.element("div").classes("kw-actions"):
            self.button = ui.button(f"Review and {self.action} …", icon="difference", on_click=self.review)
            self.button.props("unelevated no-caps")
            ui.button("Cancel", on_click=lambda: self.leave(back)).props("flat no-caps")
            self.said = ui.label("").classes("kw-error").props("role=status data-testid=summary")
            self.reason = ui.label("").classes("kw-reason").props("data-testid=reason")
        editor.on_edit = self.edited
        self.edited()

    def edited(self) -> None:
        """Form and text agree again."""
        self.said.set_text(self.editor.summary())
        needs = self.editor.needs_attention
        self.said.classes(remove="kw-error kw-reason", add="kw-error" if needs else "kw-reason")
        self._keep(not self.editor.readable or self.editor.value != self.begun)

    def leave(self, address: str) -> None:
        """Go elsewhere. The browser asks first, if something would be lost."""
        self.editor.settle()  # what was typed a moment ago counts
        ui.navigate.to(address)

    def _keep(self, unsaved: bool) -> None:
        if unsaved != self._unsaved:
            self._unsaved = unsaved
            self.shell.unsaved(unsaved)

    def forbid(self, reason: str) -> None:
        """Grey the button, and say why; or not, when there is no reason."""
        self.reason.set_text(reason)
        self.button.set_enabled(not reason)

    def tell(self, title: str, texts: Sequence[str], classes: str = "kw-bad") -> None:
        """Say something above the form, in the place of what was said before."""
        self.notices.clear()
        with self.notices:
            notice(title, texts, classes).props("data-testid=told")

    async def review(self) -> None:
        """Ask the server what it would make of it, and show that."""
        self.editor.settle()
        self.editor.be_strict()
        self.notices.clear()
        if not self.editor.readable:
            self.tell("The YAML cannot be read", ["Mend it first: the form shows an older state."])
            return
        self.button.props("loading")
        try:
            await self.ask_server()
        except (ApiError, DecodeError, ValueError, LookupError, OSError) as error:
            self.refused(error)
        finally:
            self.button.props(remove="loading")

    async def ask_server(self) -> None:
        """A dry run, and then `show`."""
        raise NotImplementedError

    def show(self, review: Review, write: Callable[[], Awaitable[Written]]) -> None:
        """Show the review; when the viewer says so, write."""

        async def act() -> None:
            try:
                written = await write()
            except Conflict as error:
                dialog.close()
                await self.outrun(error)
            except (ApiError, DecodeError, ValueError, OSError) as error:
                dialog.close()
                self.refused(error)
            else:
                metadata = (written.value or {}).get("metadata") or {}
                place = str(metadata.get("namespace") or "")
                self.shell.go(object_address(self.kind.path, place, str(metadata.get("name"))))

        dialog = show_review(review, act)

    def refused(self, error: Exception) -> None:
        """Show what the server said, each at its field."""
        refusal = problems_in(error, self.editor.form, self.editor.value)
        homeless = self.editor.refuse(refusal.problems)
        self.tell(refusal.title, [problem.message for problem in homeless])

    async def outrun(self, error: Conflict) -> None:
        """Somebody wrote between the review and the write."""
        self.refused(error)
