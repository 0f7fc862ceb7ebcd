"""`ApplyRecord`: the last apply of an object, as an `Applier` remembers it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ["ApplyRecord", "same_content"]

_OTHER_WRITERS: Final = 16
"""Other writers that are remembered per object. The oldest is dropped first."""


class ApplyRecord(msgspec.Struct):
    """Fingerprints of the last apply: the request, and the object after it."""

    requested: bytes
    """The digest of the request."""
    stored: bytes
    """The digest of the server's answer, at the requested paths."""
    applied: bytes | None
    """The digest of the fields that the server lists as applied by our field manager (`Snapshot.applied`)."""
    resource_version: int
    writer: str = ""
    """The reconciled object for which it was applied last."""
    others: dict[str, bytes] | None = None
    """The digests of the last requests for other reconciled objects, by writer."""

    def requested_by(self, writer: str) -> bytes | None:
        """Returns the digest of this writer's last request."""
        return self.requested if writer == self.writer else (self.others or {}).get(writer)

    def competing_writer(self, writer: str, requested: bytes) -> str:
        """Returns the writer that last requested other content; empty if there is none.

        Its write may still be in progress, so that the record still names `writer`.
        """
        if writer != self.writer:
            return self.writer
        return next((name for name, other in reversed((self.others or {}).items()) if other != requested), "")

    def others_after(self, writer: str) -> dict[str, bytes] | None:
        """Returns `others` for the next record, which is written by `writer`."""
        if writer == self.writer and self.others is None:
            return None
        others = {**(self.others or {}), self.writer: self.requested}
        others.pop(writer, None)
        while len(others) > _OTHER_WRITERS:
            del others[next(iter(others))]
        return others or None


def same_content(before: bytes, after: bytes) -> bool:
    """Returns whether two states of an object differ only in the server's bookkeeping."""

    def content(raw: bytes) -> dict[str, Any]:
        decoded = msgspec.json.decode(raw, type=dict[str, Any])
        for name in ("managedFields", "resourceVersion"):
            decoded["metadata"].pop(name, None)
        return decoded

    return content(before) == content(after)
