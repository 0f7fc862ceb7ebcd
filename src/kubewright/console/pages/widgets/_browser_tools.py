"""Invisible elements for tasks that only the browser can do: naming an editor's input, and saving a file."""

from __future__ import annotations

from nicegui import ui
from nicegui.element import Element

from kubewright.console.pages._static_files import STATIC

__all__ = ["Download", "name_editor"]


class _EditorName(Element, component=STATIC / "editor_name.js"):
    def __init__(self, editor: ui.codemirror, label: str) -> None:
        super().__init__()
        self.props["editor"] = f"c{editor.id}"
        self.props["label"] = label


def name_editor(editor: ui.codemirror, label: str) -> None:
    """Sets the accessible name of a code editor."""
    _EditorName(editor, label)


class Download(Element, component=STATIC / "download.js"):
    """Saves text as a file in the browser."""

    def save(self, name: str, text: str) -> None:
        """Saves the text under this name."""
        self.run_method("save", name, text)
