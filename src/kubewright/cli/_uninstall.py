"""`kubewright uninstall` lives beside `install`."""

from __future__ import annotations

from kubewright.cli._install import uninstall as command

__all__ = ["command"]
