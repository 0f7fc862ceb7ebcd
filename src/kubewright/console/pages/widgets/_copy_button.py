"""`CopyButton`: copies text to the clipboard and reports the result."""

from __future__ import annotations

from collections.abc import Callable

from nicegui.element import Element

from kubewright.console.pages._static_files import STATIC

__all__ = ["CopyButton"]


class CopyButton(Element, component=STATIC / "copy_button.js"):
    """A button that copies. It then shows "Copied", or "Not copied" with the reason, also to screen readers.

    Its width fits its longest label, so that the layout does not shift.
    """

    def __init__(self, text: Callable[[], str]) -> None:
        """Takes a function that returns the text to copy."""
        super().__init__()
        self.on("ask", lambda: self.run_method("write", text()), args=[])
