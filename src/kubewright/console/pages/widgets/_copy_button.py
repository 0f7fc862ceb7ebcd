"""`CopyButton`: puts a text into the clipboard, and says whether the browser let it."""

from __future__ import annotations

from collections.abc import Callable

from nicegui.element import Element

from kubewright.console.pages._static_files import STATIC

__all__ = ["CopyButton"]


class CopyButton(Element, component=STATIC / "copy_button.js"):
    """A button that copies. For some seconds it says "Copied", or "Not copied" and why, also to those who cannot see.

    It is as wide as its longest word from the beginning, so nothing beside it moves.
    """

    def __init__(self, text: Callable[[], str]) -> None:
        """`text` gives what is to be copied, when the button is pressed."""
        super().__init__()
        self.on("ask", lambda: self.run_method("write", text()), args=[])
