"""A violated constraint."""

from __future__ import annotations

import msgspec

__all__ = ["Violation"]


class Violation(msgspec.Struct, frozen=True):
    """A constraint that a value violates. `path` is the server's path of the field: `spec.ports[0].name`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message
