"""The widgets of a form: the path that each one edits, and where it shows problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement
from nicegui.elements.mixins.value_element import ValueElement

from kubewright.console.forms import Document, Field, Path, Problem, format_path

__all__ = ["FormNode", "FormState", "set_silently"]


class FormNode:
    """A field in the document. Its key in a map can change while its widgets exist."""

    def __init__(self, field: Field, parent: FormNode | None = None, step: str | int = "") -> None:
        self.field = field
        self.parent = parent
        self.step = step

    @property
    def path(self) -> Path:
        """The current path."""
        return () if self.parent is None else (*self.parent.path, self.step)

    def member(self, name: str) -> FormNode:
        """Returns the node of a field of this object."""
        return FormNode(self.field.members[name], self, name)

    def element(self, step: str | int) -> FormNode:
        """Returns the node of an element of this list or map."""
        return FormNode(self.field.element, self, step)

    @property
    def label(self) -> str:
        """The accessible name."""
        return format_path(self.path)


class FormState:
    """The state that the widgets of one form share: the document, the edit callback, and the problems."""

    def __init__(
        self,
        document: Document,
        on_edit: Callable[[], None],
        old: dict[str, Any] | None,
        labels: Mapping[tuple[str, ...], str] | None = None,
    ) -> None:
        self.document = document
        self.old = old
        """The object as it was read; None for a new one."""
        self.opened: set[Path] = set()
        """The groups that the user expanded. They stay expanded when the form is redrawn."""
        self.labels: dict[Path, str] = {(*path,): label for path, label in (labels or {}).items()}
        """Labels that are shown instead of the names of fields."""
        self.in_sections: set[Path] = set()
        """The fields that a declared section shows. No other part of the form shows them."""
        self._groups: dict[Path, list[ui.expansion]] = {}
        self._on_edit = on_edit
        self._errors: list[tuple[FormNode, ui.element]] = []
        self._problems: list[Problem] = []

    def edited(self) -> None:
        """Reports an edit by the user."""
        self._on_edit()

    def clear(self) -> None:
        """Forgets all widgets before the form is redrawn."""
        self._errors.clear()
        self._groups.clear()

    def is_in_section(self, node: FormNode) -> bool:
        """Whether a declared section shows the field, or all fields of this object."""
        if not any(path[: len(node.path)] == node.path for path in self.in_sections):
            return False
        members = node.field.members
        return node.path in self.in_sections or (
            bool(members) and all(self.is_in_section(node.member(one)) for one in members)
        )

    def register_group(self, path: Path, group: ui.expansion) -> None:
        """Registers a part of the form that must be expanded to show the fields below a path."""
        self._groups.setdefault(path, []).append(group)

    def reveal(self, path: Path) -> ui.element | None:
        """Expands everything around a field, and returns its element, or that of its closest parent."""
        for depth in range(len(path) + 1):
            for group in self._groups.get(path[:depth], ()):
                if not group.is_deleted:
                    group.set_value(True)  # draws its fields
        places = {node.path: element for node, element in self._errors if not element.is_deleted}
        return next((places[path[:depth]] for depth in range(len(path), 0, -1) if path[:depth] in places), None)

    def register(self, node: FormNode, element: ui.element) -> None:
        """Registers the element, an input or a label, that shows the problems of a node."""
        self._errors.append((node, element))

    def update_labels(self) -> None:
        """Updates the labels of widgets below a renamed key."""
        for node, element in self._errors:
            if not element.is_deleted and element.props.get("data-path") not in (None, node.label):
                element.props["data-path"] = element.props["aria-label"] = node.label

    def show_problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """Shows each problem at its field, or at the closest parent that is drawn. Returns those without a field."""
        self._problems = [*problems]
        return self.show_problems_again()

    def show_problems_again(self) -> list[Problem]:
        """Shows the same problems again after more fields were drawn."""
        self._errors = [(node, element) for node, element in self._errors if not element.is_deleted]
        places = {node.path: element for node, element in self._errors}
        texts: dict[int, list[str]] = {}
        unplaced = []
        for problem in self._problems:
            for depth in range(len(problem.path), 0, -1):
                element = places.get(problem.path[:depth])
                if element is not None:
                    rest = format_path(problem.path[depth:])
                    message = f"{rest}: {problem.message}" if rest else problem.message
                    texts.setdefault(element.id, []).append(message)
                    break
            else:
                unplaced.append(problem)
        for _, element in self._errors:
            _show_problem(element, "\n".join(dict.fromkeys(texts.get(element.id, ()))))
        return unplaced


def _show_problem(element: ui.element, text: str) -> None:
    if isinstance(element, ValidationElement):
        element.error = text or None
    elif isinstance(element, ui.label) and element.text != text:
        element.set_text(text)


def set_silently(widget: ValueElement[Any], value: Any, handler: Callable[[], None]) -> None:
    """Sets the value of a widget without calling its handler."""
    handlers = widget._change_handlers
    kept = [*handlers]
    handlers[:] = [one for one in kept if one != handler]
    try:
        widget.set_value(value)
    finally:
        handlers[:] = kept
