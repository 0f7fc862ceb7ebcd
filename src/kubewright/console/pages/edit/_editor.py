"""`Editor`: a form and its YAML side by side, kept in sync, with validation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

from nicegui import ui

from kubewright.console.forms import (
    MISSING,
    Checker,
    Document,
    Field,
    Problem,
    YamlSyntaxError,
    edit_yaml,
    format_path,
    read_yaml,
    write_yaml,
)
from kubewright.console.kinds import DeclaredForm
from kubewright.console.pages.edit._form_state import FormNode, FormState, set_silently
from kubewright.console.pages.edit._groups import draw_field
from kubewright.console.pages.edit._sections import draw_sections
from kubewright.console.pages.widgets import labeled, name_editor

__all__ = ["Editor"]

_SYNC_DELAY: Final = 0.15


class Editor:
    """One object that is edited as a form and as YAML. `value` is the current object.

    An edit in the form updates the YAML. An edit in the YAML updates the form as soon as it is valid. Invalid YAML is
    reported with its line, and the form keeps its last state.
    """

    def __init__(
        self,
        form: Field,
        checker: Checker,
        value: dict[str, Any],
        *,
        old: dict[str, Any] | None = None,
        namespaces: Sequence[str] | None = None,
        declared: DeclaredForm | None = None,
    ) -> None:
        """Creates an editor.

        Args:
            form: the fields.
            checker: the validation rules.
            value: the initial object.
            old: the object as it was read; None for a new object.
            namespaces: namespaces to choose from for a new object. None if it is cluster-scoped or exists already.
            declared: the sections and labels that the operator declared.
        """
        self.form = form
        self.checker = checker
        self.document = Document(value)
        self.old = old
        self.yaml_valid = True
        """Whether the YAML is valid. Otherwise the form has an older state."""
        self.reports_missing = old is not None
        """Whether missing required fields are reported too. True after the first review."""
        self._namespaces = namespaces
        self._declared = declared or DeclaredForm()
        self.on_edit: Callable[[], None] | None = None
        """Called after each change, once both sides are in sync."""
        self._state = FormState(self.document, self._form_edited, old, self._declared.labels)
        self._rejections: list[Problem] = []
        self._timer: asyncio.TimerHandle | None = None
        self._from_text = False

    @property
    def value(self) -> dict[str, Any]:
        """The current object."""
        return self.document.value

    # Drawing

    def draw(self) -> None:
        """Draws both sides."""
        with ui.element("div").classes("kw-edit"):
            self._fields = ui.element("form").classes("kw-form").props("data-testid=form")
            self._fields.props["aria-label"] = "Fields"
            self._fields.on("submit.prevent", lambda: None)
            with ui.element("div").classes("kw-card kw-edit-yaml"):
                with ui.element("div").classes("kw-edit-head"):
                    ui.label("YAML")
                    ui.space()
                    self._yaml_problem = ui.label("").classes("kw-error").props("role=alert data-testid=yaml-problem")
                self.text = ui.codemirror(write_yaml(self.value), language="YAML", indent="  ", theme="githubLight")
                self.text.props["data-testid"] = "yaml"
                name_editor(self.text, "YAML")
        self.text.on_value_change(self._text_edited)
        self._draw_form()
        self._check()

    def _draw_form(self) -> None:
        self._state.clear()
        self._fields.clear()
        with self._fields:
            draw_sections(self._state, FormNode(self.form), self._declared, self._draw_namespace)

    def _draw_namespace(self, node: FormNode) -> None:
        if self._namespaces is None:
            draw_field(self._state, node)
            return
        current = self.document.get(node.path)
        now = current if isinstance(current, str) else ""
        options = list(dict.fromkeys([*([now] if now else []), *self._namespaces]))
        widget = ui.select(options, label="namespace *", value=now or None, with_input=True)
        widget.props("outlined dense stack-label hide-bottom-space options-dense").without_auto_validation()
        if not options:
            widget.props["hint"] = "You may not create it in any namespace."
        labeled(widget, node.label)
        widget.props["data-path"] = node.label

        def choose() -> None:
            if widget.value:
                self.document.put(node.path, widget.value)
            else:
                self.document.remove(node.path)
            self._form_edited()

        widget.on_value_change(choose)
        self._state.register(node, widget)

    # Synchronization

    def replace(self, value: dict[str, Any], old: dict[str, Any] | None = None) -> None:
        """Replaces the object on both sides."""
        self.document.replace(value)
        if old is not None:
            self.old = self._state.old = old
        self._set_text(write_yaml(self.value))
        self._draw_form()
        self._check()

    def _form_edited(self) -> None:
        self._rejections = []
        self._schedule_sync(from_text=False)

    def _text_edited(self) -> None:
        self._rejections = []
        self._schedule_sync(from_text=True)

    def _schedule_sync(self, *, from_text: bool) -> None:
        if self._timer is not None:
            if self._from_text != from_text:
                self.sync()  # the other side has an edit that is not synced yet
            if self._timer is not None:
                self._timer.cancel()
        self._from_text = from_text
        self._timer = asyncio.get_running_loop().call_later(_SYNC_DELAY, self.sync)

    def sync(self) -> None:
        """Syncs the other side now, and validates."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        if self._from_text:
            self._parse_yaml()
        else:
            self._set_text(edit_yaml(self.text.value or "", self.value) if self.yaml_valid else write_yaml(self.value))
            self._show_yaml_problem("")
        self._check()

    def close(self) -> None:
        """Cancels a pending sync."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _parse_yaml(self) -> None:
        try:
            read = read_yaml(self.text.value or "")
            if read is None:
                read = {}
            if not isinstance(read, dict):
                raise YamlSyntaxError("expected a mapping of fields to values", 1)
        except YamlSyntaxError as error:
            self.yaml_valid = False
            self._show_yaml_problem(str(error))
            return
        self._show_yaml_problem("")
        if read != self.value:
            self.document.replace(read)
            self._draw_form()

    def _show_yaml_problem(self, text: str) -> None:
        self.yaml_valid = not text
        self._yaml_problem.set_text(text)

    def _set_text(self, text: str) -> None:
        if text != self.text.value:
            set_silently(self.text, text, self._text_edited)
        self.yaml_valid = True

    # Validation

    def require_all(self) -> None:
        """Reports missing required fields from now on."""
        if not self.reports_missing:
            self.reports_missing = True
            self._check()

    def show_rejection(self, problems: Sequence[Problem]) -> list[Problem]:
        """Shows the server's problems until the next edit. Returns those without a field in the form."""
        self._rejections = [*problems]
        return self._check()

    def _check(self) -> list[Problem]:
        found = [*self.checker.check(self.value, self.old), *self._rejections]
        by_path: dict[Any, Problem] = {}
        for problem in found:
            by_path.setdefault(problem.path or problem, problem)  # the local message comes first, and is shorter
        self.problems = list(by_path.values())
        unplaced = self._state.show_problems(problem for problem in self.problems if not self._is_unfilled(problem))
        if self.on_edit is not None:
            self.on_edit()
        return unplaced

    def _is_unfilled(self, problem: Problem) -> bool:
        """Whether the problem is only a field that is not filled in yet, before the first review."""
        return not self.reports_missing and bool(problem.path) and self.document.get(problem.path) in (MISSING, "")

    def reveal_first_problem(self) -> ui.element | None:
        """Expands the form around the first problem, and returns the element to show. Empty fields come last."""
        if not self.yaml_valid:
            return self.text
        for problem in sorted(self.problems, key=self._is_unfilled):
            if problem.path and (element := self._state.reveal(problem.path)) is not None:
                self._state.show_problems_again()  # fields that were drawn just now
                return element
        return None

    @property
    def needs_attention(self) -> bool:
        """Whether there is a problem other than a missing value."""
        return not self.yaml_valid or any(not self._is_unfilled(problem) for problem in self.problems)

    def summary(self) -> str:
        """Returns how many fields have problems, as text."""
        if not self.yaml_valid:
            return "The YAML is invalid."
        places = {format_path(problem.path) for problem in self.problems if not self._is_unfilled(problem)}
        empty = {format_path(problem.path) for problem in self.problems} - places
        parts = []
        if places:
            parts.append(f"{len(places)} field{'s need' if len(places) > 1 else ' needs'} attention")
        if empty:
            parts.append(f"{len(empty)} required field{'s are' if len(empty) > 1 else ' is'} empty")
        return ", ".join(parts)
