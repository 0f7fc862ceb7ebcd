"""What a check found."""

from __future__ import annotations

import msgspec

__all__ = ["Violation"]


class Violation(msgspec.Struct, frozen=True):
    """A rule that a value breaks. `path` is the field's, as the server names it: `spec.ports[0].name`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message
