"""Lines out of a body that arrives in pieces."""

from __future__ import annotations

from io import BytesIO

__all__ = ["Lines"]


class Lines:
    """Cuts pieces into whole lines and keeps the begin of the next one.

    `pending` is how many bytes are kept: the caller bounds it, since a line need not end.
    """

    def __init__(self) -> None:
        self._begun = bytearray()

    @property
    def pending(self) -> int:
        """Bytes of the line that has not ended yet."""
        return len(self._begun)

    def feed(self, piece: bytes) -> list[bytes]:
        """Returns the lines that are whole now, each with its newline."""
        lines = BytesIO(piece).readlines()  # three times as quick as `split`
        if lines and self._begun and lines[0].endswith(b"\n"):
            self._begun += lines[0]
            lines[0] = self.rest()
        if lines and not lines[-1].endswith(b"\n"):
            self._begun += lines.pop()
        return lines

    def rest(self) -> bytes:
        """Returns the bytes of the line that has not ended, and forgets them."""
        rest = bytes(self._begun)
        self._begun = bytearray()
        return rest
