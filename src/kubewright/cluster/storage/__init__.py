"""Storage: all objects in memory, with one revision counter, a history for watches, and snapshots in a file.

`Storage` knows nothing of Kubernetes: it stores an `Entry` for each key, rejects a write whose expectation is outdated
(`RevisionConflict`), and returns the `Event`s since a revision, or `Compacted` if it has forgotten them. The history
and each object are bounded (`HISTORY_BYTES`, `MAX_OBJECT_BYTES`).
"""

from __future__ import annotations

from kubewright.cluster.storage._storage import (
    HISTORY_BYTES,
    MAX_OBJECT_BYTES,
    Compacted,
    Entry,
    Event,
    RevisionConflict,
    Storage,
)

__all__ = [
    "HISTORY_BYTES",
    "MAX_OBJECT_BYTES",
    "Compacted",
    "Entry",
    "Event",
    "RevisionConflict",
    "Storage",
]
