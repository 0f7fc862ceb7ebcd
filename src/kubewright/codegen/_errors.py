"""The errors of code generation."""

from __future__ import annotations

__all__ = ["CodegenError", "WrongRequest"]


class CodegenError(ValueError):
    """No types can be generated. The message has the source, the position in it, the reason and the fix."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


class WrongRequest(CodegenError):
    """The request is invalid: a file or a kind that does not exist, or an invalid class name."""
