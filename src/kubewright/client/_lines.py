"""Splits a body that arrives in pieces into lines."""

from __future__ import annotations

from io import BytesIO

__all__ = ["Lines"]


class Lines:
    """Splits pieces into whole lines and keeps the beginning of the next one.

    `pending` is the number of buffered bytes. The caller limits it, because a line may never end.
    """

    def __init__(self) -> None:
        self._begun = bytearray()

    @property
    def pending(self) -> int:
        """The size of the incomplete line in bytes."""
        return len(self._begun)

    def feed(self, piece: bytes) -> list[bytes]:
        """Returns the lines that are complete now, each with its newline."""
        lines = BytesIO(piece).readlines()  # three times as fast as `split`
        if lines and self._begun and lines[0].endswith(b"\n"):
            self._begun += lines[0]
            lines[0] = self.rest()
        if lines and not lines[-1].endswith(b"\n"):
            self._begun += lines.pop()
        return lines

    def rest(self) -> bytes:
        """Returns and drops the incomplete line."""
        rest = bytes(self._begun)
        self._begun = bytearray()
        return rest
