"""The whole cluster as it was at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubewright.cluster._state import State
from kubewright.cluster.machinery._failures import expired
from kubewright.cluster.storage._storage import Entry

__all__ = ["Snapshot", "rewind", "take"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every object at one revision. It stays as it is, and can be gone back to any number of times."""

    revision: int
    objects: Mapping[str, Mapping[str, Entry]] = field(repr=False)


def take(state: State) -> Snapshot:
    """What there is now. Objects are not copied: they never change, only their places do."""
    objects: dict[str, dict[str, Entry]] = {}
    for storage, entry in state.storage.dump():
        objects.setdefault(storage, {})[entry.key] = entry
    return Snapshot(state.storage.revision, objects)


def rewind(state: State, snapshot: Snapshot) -> int:
    """Put everything back; the revision of the cluster from then on.

    As after the restore of etcd that Kubernetes recommends (with bumped revisions): objects are exactly what they
    were, with their uids and resourceVersions; revisions go on from where they were, so none is used twice; and all
    history is forgotten. Open watches end with 410, as one from an earlier revision does: clients list again.
    """
    for stream in list(state.streams):
        stream.fail(expired(f"too old resource version: the cluster was rewound to revision {snapshot.revision}"))
    state.storage.restore(snapshot.objects)
    for restored in state.restored:
        restored()
    return state.storage.revision
