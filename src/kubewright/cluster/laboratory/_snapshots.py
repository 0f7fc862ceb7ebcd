"""Snapshots of the whole cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubewright.cluster._state import State
from kubewright.cluster.machinery._failures import expired
from kubewright.cluster.storage._storage import Entry

__all__ = ["Snapshot", "rewind", "take"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every object at one revision. Immutable; can be restored any number of times."""

    revision: int
    objects: Mapping[str, Mapping[str, Entry]] = field(repr=False)


def take(state: State) -> Snapshot:
    """Returns the current state. Objects are not copied, because entries are immutable."""
    objects: dict[str, dict[str, Entry]] = {}
    for storage, entry in state.storage.dump():
        objects.setdefault(storage, {})[entry.key] = entry
    return Snapshot(state.storage.revision, objects)


def rewind(state: State, snapshot: Snapshot) -> int:
    """Restores the snapshot. Returns the new revision of the cluster.

    The effect is that of the etcd restore that Kubernetes recommends (with bumped revisions): objects are exactly as
    they were, with their uids and resourceVersions; revisions continue, so none is reused; and all history is dropped.
    Open watches end with 410, and so do watches from an earlier revision: clients list again.
    """
    for stream in list(state.watchers):
        stream.fail(expired(f"too old resource version: the cluster was rewound to revision {snapshot.revision}"))
    state.storage.restore(snapshot.objects)
    for restored in state.restored:
        restored()
    return state.storage.revision
