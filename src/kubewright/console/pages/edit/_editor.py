"""`Editor`: a form beside its YAML, each following the other, and what is wrong with either."""

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
from kubewright.console.pages.edit._form_state import FormNode, FormState, set_quietly
from kubewright.console.pages.edit._groups import draw_field, draw_members
from kubewright.console.pages.widgets import labeled

__all__ = ["Editor"]

_PAUSE: Final = 0.15
_ABOVE: Final = frozenset(["apiVersion", "kind", "metadata", "status"])


class Editor:
    """One object being written, as a form and as text. `value` is what both say.

    Typing in the form changes the text at once; typing in the text changes the form when the text can be read. Text
    that cannot be read is told with its line, and the form keeps what it had.
    """

    def __init__(
        self,
        form: Field,
        checker: Checker,
        value: dict[str, Any],
        *,
        old: dict[str, Any] | None = None,
        namespaces: Sequence[str] | None = None,
    ) -> None:
        """Begin with a value.

        Args:
            form: the fields.
            checker: their rules.
            value: what is there at first.
            old: the object as it was read, when there is one.
            namespaces: where a new object may go; None when it is in no namespace, or in one already.
        """
        self.form = form
        self.checker = checker
        self.document = Document(value)
        self.old = old
        self.readable = True
        """Whether the text can be read: otherwise the form has an older state."""
        self.strict = old is not None
        """Whether what is not filled in yet is told, too: from the first review on."""
        self._namespaces = namespaces
        self.on_edit: Callable[[], None] | None = None
        """Called after each change, when both sides agree."""
        self._state = FormState(self.document, self._form_edited, old)
        self._refused: list[Problem] = []
        self._timer: asyncio.TimerHandle | None = None
        self._from_text = False

    @property
    def value(self) -> dict[str, Any]:
        """What is written now."""
        return self.document.value

    # FormState

    def draw(self) -> None:
        """Both sides."""
        with ui.element("div").classes("kw-edit"):
            self._fields = ui.element("form").classes("kw-form").props("data-testid=form")
            self._fields.props["aria-label"] = "Fields"
            self._fields.on("submit.prevent", lambda: None)
            with ui.element("div").classes("kw-card kw-edit-yaml"):
                with ui.element("div").classes("kw-edit-head"):
                    ui.label("YAML")
                    ui.space()
                    self._line = ui.label("").classes("kw-error").props("role=alert data-testid=yaml-problem")
                self.text = ui.codemirror(write_yaml(self.value), language="YAML", indent="  ", theme="githubLight")
                self.text.props["data-testid"] = "yaml"
                labeled(self.text, "YAML")
        self.text.on_value_change(self._text_edited)
        self._draw_form()
        self._check()

    def _draw_form(self) -> None:
        self._state.forget()
        self._fields.clear()
        root = FormNode(self.form)
        with self._fields:
            with _part("Metadata"):
                metadata = root.member("metadata")
                draw_field(self._state, metadata.member("name"))
                if "namespace" in metadata.field.members:
                    self._namespace(metadata.member("namespace"))
                draw_field(self._state, metadata.member("labels"))
                draw_field(self._state, metadata.member("annotations"))
            for name, field in self.form.members.items():
                if name not in _ABOVE and field.shape == "object":
                    with _part(name, field.description):
                        part = root.member(name)
                        error = ui.label("").classes("kw-error").props("role=alert")
                        self._state.shows_errors(part, error)
                        draw_members(self._state, part)
            others = [
                name for name, field in self.form.members.items() if name not in _ABOVE and field.shape != "object"
            ]
            if others:
                with _part("Other fields" if len(others) < len(self.form.members) - 3 else "Fields"):
                    for name in others:
                        draw_field(self._state, root.member(name))
            self._rest(root)

    def _rest(self, root: FormNode) -> None:
        unknown = {name: value for name, value in self.value.items() if name not in {*root.field.members, *_ABOVE}}
        if unknown:
            with _part("Other fields"):
                ui.label("The form does not know these. They are kept; change them as YAML.").classes("kw-reason")
                ui.label(write_yaml(unknown).rstrip()).classes("kw-others")
        elif "kind" not in root.field.members:
            with _part("Everything else"):
                ui.label("The server tells no schema for this kind: write it as YAML.").classes("kw-reason")

    def _namespace(self, node: FormNode) -> None:
        if self._namespaces is None:
            draw_field(self._state, node)
            return
        current = self.document.get(node.path)
        now = current if isinstance(current, str) else ""
        options = list(dict.fromkeys([*([now] if now else []), *self._namespaces]))
        widget = ui.select(options, label="namespace *", value=now or None, with_input=True)
        widget.props("outlined dense stack-label hide-bottom-space options-dense").without_auto_validation()
        if not options:
            widget.props["hint"] = "You may create it in no namespace."
        labeled(widget, node.label)
        widget.props["data-path"] = node.label

        def choose() -> None:
            if widget.value:
                self.document.put(node.path, widget.value)
            else:
                self.document.remove(node.path)
            self._form_edited()

        widget.on_value_change(choose)
        self._state.shows_errors(node, widget)

    # Following each other

    def replace(self, value: dict[str, Any], old: dict[str, Any] | None = None) -> None:
        """Another object, on both sides."""
        self.document.replace(value)
        if old is not None:
            self.old = self._state.old = old
        self._set_text(write_yaml(self.value))
        self._draw_form()
        self._check()

    def _form_edited(self) -> None:
        self._refused = []
        self._soon(from_text=False)

    def _text_edited(self) -> None:
        self._refused = []
        self._soon(from_text=True)

    def _soon(self, *, from_text: bool) -> None:
        if self._timer is not None:
            if self._from_text != from_text:
                self.settle()  # the other side was typed in a moment ago: that counts, too
            if self._timer is not None:
                self._timer.cancel()
        self._from_text = from_text
        self._timer = asyncio.get_running_loop().call_later(_PAUSE, self.settle)

    def settle(self) -> None:
        """Let the other side follow now, and check."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        if self._from_text:
            self._read()
        else:
            self._set_text(edit_yaml(self.text.value or "", self.value) if self.readable else write_yaml(self.value))
            self._tell_line("")
        self._check()

    def close(self) -> None:
        """Nobody looks any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _read(self) -> None:
        try:
            read = read_yaml(self.text.value or "")
            if read is None:
                read = {}
            if not isinstance(read, dict):
                raise YamlSyntaxError("an object is a list of fields with their values", 1)
        except YamlSyntaxError as error:
            self.readable = False
            self._tell_line(str(error))
            return
        self._tell_line("")
        if read != self.value:
            self.document.replace(read)
            self._draw_form()

    def _tell_line(self, text: str) -> None:
        self.readable = not text
        self._line.set_text(text)

    def _set_text(self, text: str) -> None:
        if text != self.text.value:
            set_quietly(self.text, text, self._text_edited)
        self.readable = True

    # Problems

    def be_strict(self) -> None:
        """Tell also what is not filled in yet."""
        if not self.strict:
            self.strict = True
            self._check()

    def refuse(self, problems: Sequence[Problem]) -> list[Problem]:
        """Show what a server said, until something is changed. Gives what has no node in the form."""
        self._refused = [*problems]
        return self._check()

    def _check(self) -> list[Problem]:
        found = [*self.checker.check(self.value, self.old), *self._refused]
        said: dict[Any, Problem] = {}
        for problem in found:
            said.setdefault(problem.path or problem, problem)  # ours are shorter, where both know of it
        self.problems = list(said.values())
        unplaced = self._state.show(problem for problem in self.problems if not self._is_early(problem))
        if self.on_edit is not None:
            self.on_edit()
        return unplaced

    def _is_early(self, problem: Problem) -> bool:
        """Whether a problem is only that something is not filled in yet, and nobody has said that it is done."""
        return not self.strict and bool(problem.path) and self.document.get(problem.path) in (MISSING, "")

    @property
    def needs_attention(self) -> bool:
        """Whether something is wrong, and not only missing."""
        return not self.readable or any(not self._is_early(problem) for problem in self.problems)

    def summary(self) -> str:
        """How many fields need attention, in words."""
        if not self.readable:
            return "The YAML cannot be read."
        places = {format_path(problem.path) for problem in self.problems if not self._is_early(problem)}
        empty = {format_path(problem.path) for problem in self.problems} - places
        parts = []
        if places:
            parts.append(f"{len(places)} field{'s need' if len(places) > 1 else ' needs'} attention")
        if empty:
            parts.append(f"{len(empty)} to fill in")
        return ", ".join(parts)


def _part(title: str, description: str = "") -> ui.element:
    made = ui.element("section").classes("kw-card kw-form-part")
    labeled(made, title)
    with made:
        with ui.element("h2"):
            ui.label(title)
        if description:
            ui.label(description).classes("kw-subtitle")
    return made
