"""What can go wrong, as one exception, and one of its kinds."""

from __future__ import annotations

__all__ = ["CodegenError", "WrongRequest"]


class CodegenError(ValueError):
    """No types can be written; the text names the source and the position in it, and says why and what to do."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}")
        self.source = source
        self.reason = reason


class WrongRequest(CodegenError):
    """What was asked for cannot be: a file that is not there, a kind that nothing defines, a name for no class."""
