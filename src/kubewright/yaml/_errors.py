"""The error of the YAML reader."""

from __future__ import annotations

__all__ = ["InvalidYAML"]


class InvalidYAML(ValueError):
    """A document is not YAML, has no JSON equivalent, or exceeds a bound.

    `line`, `column` and `document` count from 1, and are 0 when unknown. The message does not quote the document.
    """

    def __init__(self, problem: str, line: int = 0, column: int = 0, *, document: int = 0) -> None:
        super().__init__(f"line {line}, column {column}: {problem}" if line else problem)
        self.problem = problem
        self.line = line
        self.column = column
        self.document = document
