"""The error of installing definitions."""

from __future__ import annotations

__all__ = ["InstallError"]


class InstallError(Exception):
    """A definition was not installed. The message has its name, the reason and the fix."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"CustomResourceDefinition {name}: {reason}")
        self.name = name
        self.reason = reason
