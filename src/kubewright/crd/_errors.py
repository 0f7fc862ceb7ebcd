"""What goes wrong with definitions in a cluster."""

from __future__ import annotations

__all__ = ["InstallError"]


class InstallError(Exception):
    """A definition was not installed; the text names it, and says why and what to do."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"CustomResourceDefinition {name}: {reason}")
        self.name = name
        self.reason = reason
