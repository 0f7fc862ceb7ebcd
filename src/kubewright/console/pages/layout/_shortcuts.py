"""Keyboard shortcuts, and the element that handles them in each page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import nicegui
import nicegui.elements.codemirror.codemirror  # registers codemirror.js
from nicegui import ui
from nicegui.dependencies import js_components
from nicegui.element import Element

from kubewright.console.pages._static_files import STATIC
from kubewright.console.pages.widgets import path_prefix

__all__ = ["KEYS", "Shell", "keys_dialog"]

KEYS: Final[Mapping[str, str]] = {
    "Ctrl K": "Search objects, kinds and pages",
    "/": "Search the list or the whole console",
    "g k": "Go to kinds",
    "g p": "Go to problems",
    "g o": "Go to operator",
    "j  k": "Move down and up in a list (or use the arrow keys)",
    "Enter": "Open the object (Ctrl+Enter: in a new tab)",
    "Space": "Select the row",
    "?": "Show keyboard shortcuts",
    "Esc": "Close a dialog, or leave a field",
}
"""The keyboard shortcuts, as the help shows them."""

_SCRIPTS: Final = ("live_grid.js", "codemirror.js", "editor_name.js")
"""The scripts of lists and forms, which import AG Grid and CodeMirror. Pages load them in advance."""

_ADDRESSES: Final = {"k": "/", "p": "/problems", "o": "/operator"}


class Shell(Element, component=STATIC / "shell.js"):
    """Handles shortcuts, stores the theme and the chosen namespace, changes the URL without reloading, and warns before
    changes are lost.
    """

    def __init__(self, namespace: str | None = None, *, fill: bool = False) -> None:
        """Takes the namespace that other pages keep, and whether the page fills the window."""
        super().__init__()
        self.props["fill"] = fill
        self.props["namespace"] = namespace
        self.props["addresses"] = _ADDRESSES
        self.props["scripts"] = _scripts()

    def remember_theme(self, choice: str) -> None:
        """Stores the theme in a cookie for the next page."""
        self.run_method("theme", choice)

    def show_address(self, url: str, *, push: bool = False) -> None:
        """Changes the URL in the browser. `push` adds a history entry."""
        self.run_method("address", url, push)

    def unsaved(self, something: bool) -> None:
        """Sets whether the browser must warn before leaving the page."""
        self.run_method("unsaved", something)

    def reveal(self, element: ui.element) -> None:
        """Scrolls to an element and focuses it, or the first input inside it."""
        self.run_method("reveal", element.html_id)

    def go(self, url: str) -> None:
        """Navigates without a warning. Sends a single message, so that no other event can come in between."""
        self.run_method("go", url)


def _scripts() -> tuple[str, ...]:
    """Returns the URLs of the scripts to load in advance."""
    known = {component.path.name: component.key for component in js_components.values()}
    base = f"{path_prefix()}/_nicegui/{nicegui.__version__}/components"
    return tuple(f"{base}/{known[name]}" for name in _SCRIPTS)


def keys_dialog() -> ui.dialog:
    """Draws the open help dialog."""
    with ui.dialog(value=True) as dialog, ui.card():
        dialog.props["aria-label"] = "Keyboard shortcuts"
        ui.label("Keyboard shortcuts").classes("kw-problem-title")
        with ui.element("div").classes("kw-keys"):
            for key, meaning in KEYS.items():
                with ui.element("kbd"):
                    ui.label(key)
                ui.label(meaning)
        ui.button("Close", on_click=dialog.close).props("flat dense")
    return dialog
