"""Places of a form on a page: where each widget stands, and how it shows what is wrong there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement
from nicegui.elements.mixins.value_element import ValueElement

from kubewright.console.forms import Document, Field, Path, Problem, format_path

__all__ = ["FormNode", "FormState", "set_quietly"]


class FormNode:
    """A node in the document. A member of a map may get another name while its widgets stand there."""

    def __init__(self, field: Field, parent: FormNode | None = None, step: str | int = "") -> None:
        self.field = field
        self.parent = parent
        self.step = step

    @property
    def path(self) -> Path:
        """Where it is now."""
        return () if self.parent is None else (*self.parent.path, self.step)

    def member(self, name: str) -> FormNode:
        """The node of a member of the object here."""
        return FormNode(self.field.members[name], self, name)

    def element(self, step: str | int) -> FormNode:
        """The node of an element of the list or map here."""
        return FormNode(self.field.element, self, step)

    @property
    def label(self) -> str:
        """What it is called for those who cannot see where it stands."""
        return format_path(self.path)


class FormState:
    """What the parts of one form share: the document, who hears of edits, and where problems are format_path."""

    def __init__(self, document: Document, on_edit: Callable[[], None], old: dict[str, Any] | None) -> None:
        self.document = document
        self.old = old
        """The object as it was read; None for a new one."""
        self.opened: set[Path] = set()
        """The groups that somebody opened: they are open again when the form is drawn anew."""
        self._on_edit = on_edit
        self._errors: list[tuple[FormNode, ui.element]] = []
        self._problems: list[Problem] = []

    def edited(self) -> None:
        """Something was changed by hand."""
        self._on_edit()

    def forget(self) -> None:
        """Everything is about to be drawn anew."""
        self._errors.clear()

    def shows_errors(self, node: FormNode, element: ui.element) -> None:
        """From now on, problems of this node are format_path at this element: an input, or a label."""
        self._errors.append((node, element))

    def renamed(self) -> None:
        """A member of a map has another name: so have the places below it."""
        for node, element in self._errors:
            if not element.is_deleted and element.props.get("data-path") not in (None, node.label):
                element.props["data-path"] = element.props["aria-label"] = node.label

    def show(self, problems: Iterable[Problem]) -> list[Problem]:
        """Show each problem at its node, or at the nearest one that is drawn. Gives those that have no node."""
        self._problems = [*problems]
        return self.show_again()

    def show_again(self) -> list[Problem]:
        """The same problems, after more of the form was drawn."""
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
            _tell(element, "\n".join(dict.fromkeys(texts.get(element.id, ()))))
        return unplaced


def _tell(element: ui.element, text: str) -> None:
    if isinstance(element, ValidationElement):
        element.error = text or None
    elif isinstance(element, ui.label) and element.text != text:
        element.set_text(text)


def set_quietly(widget: ValueElement[Any], value: Any, handler: Callable[[], None]) -> None:
    """Set what a widget shows, without its handler hearing of it: the document has changed already."""
    handlers = widget._change_handlers
    kept = [*handlers]
    handlers[:] = [one for one in kept if one != handler]
    try:
        widget.set_value(value)
    finally:
        handlers[:] = kept
