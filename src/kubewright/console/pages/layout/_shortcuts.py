"""The keys of the console, and the element in each page that listens for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nicegui import ui
from nicegui.element import Element

from kubewright.console.pages._static_files import STATIC

__all__ = ["KEYS", "Shell", "keys_dialog"]

KEYS: Final[Mapping[str, str]] = {
    "/": "Search: the list, or the whole console",
    "g k": "Go to the kinds",
    "g o": "Go to the operator",
    "j  k": "Down and up in a list; the arrows, too",
    "Enter": "Open the object (with Ctrl in a new tab)",
    "Space": "Select the row",
    "?": "These keys",
    "Esc": "Close, or leave a field",
}
"""What each key does, as the help shows it."""

_ADDRESSES: Final = {"k": "/", "o": "/operator"}


class Shell(Element, component=STATIC / "shell.js"):
    """Listens for keys, keeps the theme, changes the address without a new page, and asks before work is lost."""

    def __init__(self, help_dialog: ui.dialog) -> None:
        super().__init__()
        self.props["addresses"] = _ADDRESSES
        self.on("help", help_dialog.open)

    def remember_theme(self, choice: str) -> None:
        """For the next page: in a cookie, which the server reads."""
        self.run_method("theme", choice)

    def show_address(self, url: str, *, push: bool = False) -> None:
        """Let the browser show an address. With `push` the one before can be gone back to."""
        self.run_method("address", url, push)

    def unsaved(self, something: bool) -> None:
        """Whether something would be lost: then the browser asks before it leaves the page."""
        self.run_method("unsaved", something)

    def go(self, url: str) -> None:
        """To another page, without a question: nothing is lost. One message, which nothing can overtake."""
        self.run_method("go", url)


def keys_dialog() -> ui.dialog:
    """The help about keys, closed."""
    with ui.dialog() as dialog, ui.card():
        dialog.props["aria-label"] = "Keys"
        ui.label("Keys").classes("kw-problem-title")
        with ui.element("div").classes("kw-keys"):
            for key, meaning in KEYS.items():
                with ui.element("kbd"):
                    ui.label(key)
                ui.label(meaning)
        ui.button("Close", on_click=dialog.close).props("flat dense")
    return dialog
