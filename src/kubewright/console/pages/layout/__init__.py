"""The frame around every page: header, navigation, keyboard shortcuts, theme, and the connection state."""

from __future__ import annotations

from kubewright.console.pages.layout._frame import Frame, draw_error_page, frame
from kubewright.console.pages.layout._navigation import BUILT_IN
from kubewright.console.pages.layout._shortcuts import Shell

__all__ = [
    "BUILT_IN",
    "Frame",
    "Shell",
    "draw_error_page",
    "frame",
]
