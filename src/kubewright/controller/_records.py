"""`Record`: what an `Applier` remembers of an object that it applied."""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ["Record", "same_content"]

_OTHER_WRITERS: Final = 16
"""How many other writers of one object are remembered; the oldest is forgotten first."""


class Record(msgspec.Struct):
    """Fingerprints of the last apply: what was asked, and what the object was after that."""

    asked: bytes
    seen: bytes
    applied: bytes | None
    resource_version: int
    writer: str = ""
    """The object of this program for which it was applied last."""
    others: dict[str, bytes] | None = None
    """The digests that other objects of this program asked for last, by writer."""

    def asked_by(self, writer: str) -> bytes | None:
        """Returns the digest that this writer asked for last."""
        return self.asked if writer == self.writer else (self.others or {}).get(writer)

    def rival_of(self, writer: str, asked: bytes) -> str:
        """Returns the writer that last asked for something else; empty if there is none.

        That may be one whose write is on its way, while the record still names `writer`.
        """
        if writer != self.writer:
            return self.writer
        return next((name for name, other in reversed((self.others or {}).items()) if other != asked), "")

    def followed_by(self, writer: str) -> dict[str, bytes] | None:
        """Returns `others` for the next record, which is written by `writer`."""
        if writer == self.writer and self.others is None:
            return None
        others = {**(self.others or {}), self.writer: self.asked}
        others.pop(writer, None)
        while len(others) > _OTHER_WRITERS:
            del others[next(iter(others))]
        return others or None


def same_content(before: bytes, after: bytes) -> bool:
    """Whether two states of an object differ in the server's bookkeeping only."""

    def content(raw: bytes) -> dict[str, Any]:
        decoded = msgspec.json.decode(raw, type=dict[str, Any])
        for name in ("managedFields", "resourceVersion"):
            decoded["metadata"].pop(name, None)
        return decoded

    return content(before) == content(after)
