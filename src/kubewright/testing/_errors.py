"""What can go wrong with the control plane, as exceptions whose text tells the user what to do next."""

from __future__ import annotations

__all__ = ["ControlPlaneError", "SetupError"]


class ControlPlaneError(Exception):
    """The control plane could not be started, stopped or disturbed as asked."""


class SetupError(ControlPlaneError):
    """A binary of the control plane could be provided by no source."""
