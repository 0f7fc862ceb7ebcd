"""`StoreWriter`: puts confirmed states into a store and notifies handlers of the difference."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Generic, TypeVar

from kubewright.api import Object
from kubewright.cache._key import ObjectKey
from kubewright.cache._overlay import Overlay, Tombstones
from kubewright.cache._snapshot import Change, Snapshot
from kubewright.cache._store import Store

__all__ = ["ListReading", "StoreWriter"]

R = TypeVar("R", bound=Object)


class ListReading(Generic[R]):
    """A list that is being read, and its content so far."""

    def __init__(self, *, anything_to_lose: bool, tombstones: Tombstones) -> None:
        self.tombstones = tombstones
        # The keys serve only to find objects that the list lacks. At the start the store is empty, and none are kept.
        self.seen: set[ObjectKey] | None = set() if anything_to_lose else None
        self.deleted: dict[ObjectKey, Snapshot[R]] = {}

    def add(self, key: ObjectKey) -> None:
        """Records that the list contains an object."""
        self.deleted.pop(key, None)
        if self.seen is not None:
            self.seen.add(key)


class StoreWriter(Generic[R]):
    """Applies confirmed states to the store in stream order, then to the overlay, then calls `deliver`."""

    def __init__(self, store: Store[R], overlay: Overlay[R], deliver: Callable[[Change[R]], None]) -> None:
        self.store = store
        self.overlay = overlay
        self._deliver = deliver

    def put(self, snapshot: Snapshot[R], *, initial: bool = False) -> None:
        """Stores a state of the server. `initial` marks the objects of the first list."""
        old = self.store.get(snapshot.key)
        if old is not None and _same_state(old, snapshot):
            self.overlay.confirmed(snapshot)
            return
        self.store.put(snapshot)
        self.overlay.confirmed(snapshot)
        if old is None:
            self._deliver(Change("added", snapshot.key, None, snapshot, initial))
        elif old.uid == snapshot.uid:
            self._deliver(Change("updated", snapshot.key, old, snapshot))
        else:
            # Deleted and created again while the watch was down: two objects, and the first one is gone.
            self._deliver(Change("deleted", old.key, old, None, missed=True))
            self._deliver(Change("added", snapshot.key, None, snapshot))

    def remove(self, last: Snapshot[R]) -> None:
        """Removes an object that the server has deleted. `last` is its final state."""
        old = self.store.remove(last.key)
        self.overlay.deleted(last.key, last.uid, last.resource_version)
        if old is not None:
            self._deliver(Change("deleted", last.key, last, None))

    def drop(self, namespace: str | None, *, deleted: bool = False) -> None:
        """Removes all objects of a namespace, or of all: the cache does not contain them any more.

        They have left, which is not a deletion, unless `deleted` says that they are gone with their namespace.
        """
        self.overlay.clear(namespace)
        for key in self.store.ordered_keys(namespace):
            if (old := self.store.remove(key)) is not None:
                self._deliver(Change("deleted" if deleted else "left", key, old, None, missed=deleted))

    def finish(self, reading: ListReading[R], namespace: str | None, revision: int) -> None:
        """Removes the objects that a complete list of a namespace, or of all, lacks.

        Deleted objects that the list still contains, although it began after their deletion, are shown again.
        """
        for last in reading.deleted.values():
            self.remove(last)
        if reading.seen is not None:
            self._remove_all_but(reading.seen, namespace, revision)
        for snapshot in self.overlay.disproved(reading.tombstones):
            self._deliver(Change("resync", snapshot.key, snapshot, snapshot))

    def _remove_all_but(self, kept: Container[ObjectKey], namespace: str | None, revision: int) -> None:
        for key in self.store.ordered_keys(namespace):
            if key not in kept:
                old = self.store.remove(key)
                if old is not None:
                    self.overlay.deleted(key, old.uid, revision)
                    self._deliver(Change("deleted", key, old, None, missed=True))


def _same_state(old: Snapshot[R], new: Snapshot[R]) -> bool:
    if old.uid != new.uid or old.resource_version != new.resource_version:
        return False
    # Objects of a server without resourceVersions are compared by content.
    return bool(new.resource_version) or old.raw == new.raw
