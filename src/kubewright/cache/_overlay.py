"""`Overlay`: what this program has written and the watch has not delivered yet.

A layer over the store. It holds the server's answers to our own writes, and tombstones for our own deletions, until the
stream has passed them: then the store knows better. Nobody else's change is ever hidden, because handlers hear of
confirmed states only, and because a state is replaced here by newer ones only (resourceVersions of one resource are
numbers that grow).

Readers look here first and at the store after that; writers change the store first. So a reader that finds nothing
here finds in the store what was here a moment ago, or something newer.
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
    """A state that the stream has yet to reach: the snapshot, or None when we deleted the object."""

    uid: str
    revision: int
    """The stream has reached this state when it has passed this revision."""
    snapshot: Snapshot[R] | None
    hidden: bool = False
    """The write took the object out of what is cached: readers are to see nothing."""
    certain: bool = False
    """The object is gone, not only asked to go."""


Tombstones: TypeAlias = dict[ObjectKey, _Pending[Any]]


class Overlay(Generic[R]):
    """Our own writes over a store. `written` and `removed` may be called from any thread."""

    def __init__(self, store: Store[R]) -> None:
        self._store = store
        self._pending: dict[ObjectKey, _Pending[R]] = {}
        self._reached: dict[str | None, int] = {}

    def __len__(self) -> int:
        return len(self._pending)

    # Our writes

    def written(self, snapshot: Snapshot[R], *, hidden: bool = False) -> None:
        """Show this state, or nothing where it is not one to be cached, until the stream has reached it."""
        key, revision = snapshot.key, snapshot.resource_version
        reached = max(self._reached.get(None, 0), self._reached.get(key.namespace, 0))
        confirmed, pending = self._store.get(key), self._pending.get(key)
        if revision <= reached or (confirmed is not None and confirmed.resource_version >= revision):
            return
        if pending is not None and pending.revision >= revision:
            return
        self._pending[key] = _Pending(snapshot.uid, revision, snapshot, hidden)

    def removed(self, key: ObjectKey, uid: str, *, certain: bool = False) -> None:
        """Hide the object with this uid until the stream has its end; or, unless that is certain, that it stays."""
        shown = self.get(key)
        if shown is None or shown.uid != uid:
            # Either the stream has told already, or nobody here has ever seen the object.
            return
        confirmed = self._store.get(key)
        if confirmed is not None and confirmed.uid == uid and confirmed.deleting and not certain:
            return  # something keeps the object, and readers can see that it is going
        self._pending[key] = _Pending(uid, shown.resource_version, None, certain=certain)

    # The stream's progress

    def confirmed(self, snapshot: Snapshot[R]) -> None:
        """The stream has delivered this state."""
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
        """The stream has delivered a deletion, or a list at that revision has shown it."""
        pending = self._pending.get(key)
        if pending is None:
            return
        if revision >= pending.revision if pending.snapshot is not None else pending.uid == uid:
            self._pending.pop(key, None)

    def passed(self, namespace: str | None, revision: int) -> None:
        """The stream of a namespace, or of all, has delivered everything up to a revision."""
        self._reached[namespace] = revision
        for key, pending in list(self._pending.items()):
            if revision < pending.revision or (namespace is not None and key.namespace != namespace):
                continue
            confirmed = self._store.get(key)
            if pending.snapshot is None and confirmed is not None and confirmed.uid == pending.uid:
                continue  # its deletion is still to come
            self._pending.pop(key, None)

    def tombstones(self, namespace: str | None) -> Tombstones:
        """What readers are not to see, because we deleted it."""
        return {
            key: pending
            for key, pending in self._pending.items()
            if pending.snapshot is None and (namespace is None or key.namespace == namespace)
        }

    def disproved(self, tombstones: Tombstones) -> list[Snapshot[R]]:
        """A whole list was begun with these tombstones in place: what it has is there, and to be seen again.

        A server that was restored from a backup has objects that we deleted, and never tells of their end.
        """
        found = []
        for key, pending in tombstones.items():
            confirmed = self._store.get(key)
            if self._pending.get(key) is pending and confirmed is not None and confirmed.uid == pending.uid:
                self._pending.pop(key, None)
                found.append(confirmed)
        return found

    def clear(self, namespace: str | None) -> None:
        """Forget all: the server's revisions went back, as they do when it is restored from a backup."""
        for key in list(self._pending):
            if namespace is None or key.namespace == namespace:
                self._pending.pop(key, None)

    # Reading

    def get(self, key: ObjectKey) -> Snapshot[R] | None:
        """The newest state of an object that is known."""
        pending = self._pending.get(key)
        confirmed = self._store.get(key)
        return confirmed if pending is None else _newest(pending, confirmed)

    def select(self, namespace: str | None = None, selector: Selector | None = None) -> list[Snapshot[R]]:
        """The newest states in a namespace that a selector matches, in the order of their keys."""
        pending = self._pending.copy()
        confirmed = self._store.select(namespace, selector)
        if not pending:
            return confirmed
        ours = [shown for shown in self._shown(pending) if matches(shown, namespace, selector)]
        return _merged(confirmed, pending, ours)

    def by_index(self, name: str, value: str) -> list[Snapshot[R]]:
        """The newest states that have this value in an index, in the order of their keys."""
        pending = self._pending.copy()
        index = self._store.index(name)
        confirmed = self._store.snapshots(sorted(index.keys(value)))
        if not pending:
            return confirmed
        ours = [shown for shown in self._shown(pending) if value in index.values_of(shown)]
        return _merged(confirmed, pending, ours)

    def count(self) -> int:
        """How many objects there are."""
        pending = self._pending.copy()
        hidden = sum(1 for key in pending if self._store.get(key) is not None)
        return len(self._store) - hidden + len(self._shown(pending))

    def _shown(self, pending: dict[ObjectKey, _Pending[R]]) -> list[Snapshot[R]]:
        newest = (_newest(entry, self._store.get(key)) for key, entry in pending.items())
        return [snapshot for snapshot in newest if snapshot is not None]


def _newest(pending: _Pending[R], confirmed: Snapshot[R] | None) -> Snapshot[R] | None:
    if pending.snapshot is None:
        # Not only the object itself: an older one of the same name was gone before ours was made.
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
