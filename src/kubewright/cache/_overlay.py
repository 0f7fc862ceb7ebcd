"""`Overlay`: own writes that the watch has not delivered yet.

A layer over the store. It holds the server's responses to own writes, and tombstones for own deletions, until the watch
has passed them and the store is newer. Changes of other clients are never hidden: handlers receive confirmed states
only, and a state is replaced only by a newer one (the resourceVersions of one resource are increasing numbers).

Readers look here first and then in the store; writers change the store first. So a reader that finds nothing here finds
the same state in the store, or a newer one.
"""

from __future__ import annotations

from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from kubewright.api import Object, Selector
from kubewright.cache._key import ObjectKey
from kubewright.cache._snapshot import Snapshot
from kubewright.cache._store import Store, matches

__all__ = ["Overlay", "Tombstones"]

R = TypeVar("R", bound=Object)


class _Pending(msgspec.Struct, Generic[R], frozen=True):
    """A state that the watch has not reached: a snapshot, or None for an own deletion."""

    uid: str
    revision: int
    """The watch has reached this state when it has passed this revision."""
    snapshot: Snapshot[R] | None
    hidden: bool = False
    """The selector of the cache no longer matches the object: readers must not see it."""
    certain: bool = False
    """The object is gone. Otherwise a finalizer may keep it."""


Tombstones: TypeAlias = dict[ObjectKey, _Pending[Any]]


class Overlay(Generic[R]):
    """Own writes over a store. `written` and `removed` may be called from any thread."""

    def __init__(self, store: Store[R]) -> None:
        self._store = store
        self._pending: dict[ObjectKey, _Pending[R]] = {}
        self._reached: dict[str | None, int] = {}

    def __len__(self) -> int:
        return len(self._pending)

    # Own writes

    def written(self, snapshot: Snapshot[R], *, hidden: bool = False) -> None:
        """Shows this state until the watch has reached it. With `hidden`, shows nothing instead."""
        key, revision = snapshot.key, snapshot.resource_version
        reached = max(self._reached.get(None, 0), self._reached.get(key.namespace, 0))
        confirmed, pending = self._store.get(key), self._pending.get(key)
        if revision <= reached or (confirmed is not None and confirmed.resource_version >= revision):
            return
        if pending is not None and pending.revision >= revision:
            return
        self._pending[key] = _Pending(snapshot.uid, revision, snapshot, hidden)

    def removed(self, key: ObjectKey, uid: str, *, certain: bool = False) -> None:
        """Hides the object with this uid until the watch delivers its deletion.

        Unless that is `certain`, the object is shown again if the watch shows that a finalizer keeps it.
        """
        shown = self.get(key)
        if shown is None or shown.uid != uid:
            # Either the watch has delivered the deletion already, or the object was never in this cache.
            return
        confirmed = self._store.get(key)
        if confirmed is not None and confirmed.uid == uid and confirmed.deleting and not certain:
            return  # a finalizer keeps the object, and readers see its deletionTimestamp
        self._pending[key] = _Pending(uid, shown.resource_version, None, certain=certain)

    # Progress of the watch

    def confirmed(self, snapshot: Snapshot[R]) -> None:
        """Drops own writes that this state, delivered by the watch, includes."""
        pending = self._pending.get(snapshot.key)
        if pending is None:
            return
        if pending.snapshot is not None:
            passed = snapshot.resource_version >= pending.revision
        else:
            kept = snapshot.uid == pending.uid and snapshot.deleting and not pending.certain
            passed = kept or (snapshot.uid != pending.uid and snapshot.resource_version > pending.revision)
        if passed:
            self._pending.pop(snapshot.key, None)

    def deleted(self, key: ObjectKey, uid: str, revision: int) -> None:
        """Drops own writes before a deletion that the watch delivered, or that a list at that revision showed."""
        pending = self._pending.get(key)
        if pending is None:
            return
        if revision >= pending.revision if pending.snapshot is not None else pending.uid == uid:
            self._pending.pop(key, None)

    def passed(self, namespace: str | None, revision: int) -> None:
        """Drops own writes up to a revision that the watch of a namespace, or of all, has passed."""
        self._reached[namespace] = revision
        for key, pending in list(self._pending.items()):
            if revision < pending.revision or (namespace is not None and key.namespace != namespace):
                continue
            confirmed = self._store.get(key)
            if pending.snapshot is None and confirmed is not None and confirmed.uid == pending.uid:
                continue  # its deletion is still to come
            self._pending.pop(key, None)

    def tombstones(self, namespace: str | None) -> Tombstones:
        """Returns the own deletions that readers must not see."""
        return {
            key: pending
            for key, pending in self._pending.items()
            if pending.snapshot is None and (namespace is None or key.namespace == namespace)
        }

    def disproved(self, tombstones: Tombstones) -> list[Snapshot[R]]:
        """Drops tombstones whose objects are in a complete list that began after the deletion. Returns these objects.

        A server that was restored from a backup has objects that were deleted, and never sends their deletion.
        """
        found = []
        for key, pending in tombstones.items():
            confirmed = self._store.get(key)
            if self._pending.get(key) is pending and confirmed is not None and confirmed.uid == pending.uid:
                self._pending.pop(key, None)
                found.append(confirmed)
        return found

    def clear(self, namespace: str | None) -> None:
        """Drops all own writes: the server's revisions went back, as after a restore from a backup."""
        for key in list(self._pending):
            if namespace is None or key.namespace == namespace:
                self._pending.pop(key, None)

    # Reading

    def get(self, key: ObjectKey) -> Snapshot[R] | None:
        """Returns the newest known state of an object."""
        pending = self._pending.get(key)
        confirmed = self._store.get(key)
        return confirmed if pending is None else _newest(pending, confirmed)

    def select(self, namespace: str | None = None, selector: Selector | None = None) -> list[Snapshot[R]]:
        """Returns the newest states in a namespace that a selector matches, sorted by key."""
        pending = self._pending.copy()
        confirmed = self._store.select(namespace, selector)
        if not pending:
            return confirmed
        ours = [shown for shown in self._shown(pending) if matches(shown, namespace, selector)]
        return _merged(confirmed, pending, ours)

    def by_index(self, name: str, value: str) -> list[Snapshot[R]]:
        """Returns the newest states that have this value in an index, sorted by key."""
        pending = self._pending.copy()
        index = self._store.index(name)
        confirmed = self._store.snapshots(sorted(index.keys(value)))
        if not pending:
            return confirmed
        ours = [shown for shown in self._shown(pending) if value in index.values_of(shown)]
        return _merged(confirmed, pending, ours)

    def count(self) -> int:
        """Returns the number of objects."""
        pending = self._pending.copy()
        hidden = sum(1 for key in pending if self._store.get(key) is not None)
        return len(self._store) - hidden + len(self._shown(pending))

    def _shown(self, pending: dict[ObjectKey, _Pending[R]]) -> list[Snapshot[R]]:
        newest = (_newest(entry, self._store.get(key)) for key, entry in pending.items())
        return [snapshot for snapshot in newest if snapshot is not None]


def _newest(pending: _Pending[R], confirmed: Snapshot[R] | None) -> Snapshot[R] | None:
    if pending.snapshot is None:
        # An older object of the same name counts too: it was gone before this one was created.
        dead = confirmed is None or confirmed.uid == pending.uid or confirmed.resource_version <= pending.revision
        return None if dead else confirmed
    if confirmed is not None and confirmed.resource_version >= pending.revision:
        return confirmed
    return None if pending.hidden else pending.snapshot


def _merged(
    confirmed: list[Snapshot[R]], pending: dict[ObjectKey, _Pending[R]], ours: list[Snapshot[R]]
) -> list[Snapshot[R]]:
    kept = [snapshot for snapshot in confirmed if snapshot.key not in pending]
    return sorted([*kept, *ours], key=lambda snapshot: snapshot.key)
