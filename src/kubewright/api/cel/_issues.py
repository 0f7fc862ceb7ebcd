"""Compile errors, in the format of the API server's compiler."""

from __future__ import annotations

from typing import Final

from kubewright.api.cel._nodes import Syntax

__all__ = ["CompileError", "Issues", "marked"]


_WIDE_DOT: Final = "\uff0e"  # below a character that takes the room of two
_WIDE_MARK: Final = "\uff3e"


class CompileError(ValueError):
    """An expression that cannot be compiled. The message has one paragraph for each issue."""


class Issues:
    """The issues of one expression, in the order of their positions."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self._found: list[tuple[int, int, str]] = []

    def add(self, id_: int, message: str) -> None:
        """Adds a problem of the node with this id."""
        self._found.append((self._syntax.offsets.get(id_, 0), len(self._found), message))

    def undeclared(self, id_: int, name: str) -> None:
        """Adds the problem of an undeclared name."""
        self.add(id_, f"undeclared reference to '{name}' (in container '')")

    def raise_if_any(self) -> None:
        """Raises `CompileError` with all problems, if there are any."""
        if self._found:
            text = self._syntax.text
            raise CompileError("\n".join(marked(text, offset, message) for offset, _, message in sorted(self._found)))


def marked(text: str, offset: int, message: str) -> str:
    """Returns a message with its position, the line, and a mark below the line."""
    line = text.count("\n", 0, offset)
    column = offset - (text.rfind("\n", 0, offset) + 1)
    shown = text.split("\n")[line].replace("\t", " ")
    dots = "".join("." if character.isascii() else _WIDE_DOT for character in shown[:column])
    mark = "^" if column >= len(shown) or shown[column].isascii() else _WIDE_MARK
    return f"ERROR: <input>:{line + 1}:{column + 1}: {message}\n | {shown}\n | {dots}{mark}"
