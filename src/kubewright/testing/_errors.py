"""The exceptions of the control plane. Their messages have the fix."""

from __future__ import annotations

__all__ = ["ControlPlaneError", "SetupError"]


class ControlPlaneError(Exception):
    """The control plane could not be started, stopped or controlled."""


class SetupError(ControlPlaneError):
    """No source provides a binary of the control plane."""
