"""Pages of extensions, and the dialogs of their actions."""

from __future__ import annotations

from kubewright.console.pages.extensions._actions import ask_action, extension_actions

__all__ = ["ask_action", "extension_actions"]
