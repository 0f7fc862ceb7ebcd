"""Watches: events since a revision, streamed to clients.

A watch that allows bookmarks gets one every `BOOKMARK_SECONDS`. A watch that is not read ends when `MAX_PENDING_BYTES`
wait for it.
"""

from __future__ import annotations

from kubewright.cluster.watch._stream import BOOKMARK_SECONDS, MAX_PENDING_BYTES

__all__ = [
    "BOOKMARK_SECONDS",
    "MAX_PENDING_BYTES",
]
