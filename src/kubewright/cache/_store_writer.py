"""`StoreWriter`: the one way into a store. It tells handlers what a new state means, compared with the old one."""

from __future__ import annotations

from collections.abc import Container
from typing import Generic, TypeVar

from kubewright.api import Object
from kubewright.cache._handlers import Handlers
from kubewright.cache._overlay import Overlay, Tombstones
from kubewright.cache._snapshot import Change, Snapshot
from kubewright.cache._store import Store

__all__ = ["StoreWriter"]

R = TypeVar("R", bound=Object)


class StoreWriter(Generic[R]):
    """Puts confirmed states into the store, in the order of the stream, and tells the overlay and the handlers."""

    def __init__(self, store: Store[R], overlay: Overlay[R], handlers: Handlers[R]) -> None:
        self.store = store
        self.overlay = overlay
        self.handlers = handlers

    def put(self, snapshot: Snapshot[R], *, initial: bool = False) -> None:
        """The server has this state. `initial` while the first list is being read."""
        old = self.store.get(snapshot.key)
        if old is not None and _same_state(old, snapshot):
            self.overlay.confirmed(snapshot)
            return
        self.store.put(snapshot)
        self.overlay.confirmed(snapshot)
        if old is None:
            self.handlers.deliver(Change("added", snapshot.key, None, snapshot, initial))
        elif old.uid == snapshot.uid:
            self.handlers.deliver(Change("updated", snapshot.key, old, snapshot))
        else:
            # Deleted and made anew while nobody was watching: two objects, of which one is gone.
            self.handlers.deliver(Change("deleted", old.key, old, None, missed=True))
            self.handlers.deliver(Change("added", snapshot.key, None, snapshot))

    def remove(self, last: Snapshot[R]) -> None:
        """The server has deleted this object, whose last state it sent along."""
        old = self.store.remove(last.key)
        self.overlay.deleted(last.key, last.uid, last.resource_version)
        if old is not None:
            self.handlers.deliver(Change("deleted", last.key, last, None))

    def remove_all_but(self, kept: Container[object], namespace: str | None, revision: int) -> None:
        """A whole list of a namespace, or of everything, had only the keys in `kept`."""
        for key in self.store.ordered_keys(namespace):
            if key not in kept:
                old = self.store.remove(key)
                if old is not None:
                    self.overlay.deleted(key, old.uid, revision)
                    self.handlers.deliver(Change("deleted", key, old, None, missed=True))

    def reveal(self, tombstones: Tombstones) -> None:
        """A whole list that was begun with these tombstones is in the store: those who hear of it look again."""
        for snapshot in self.overlay.disproved(tombstones):
            self.handlers.deliver(Change("resync", snapshot.key, snapshot, snapshot))


def _same_state(old: Snapshot[R], new: Snapshot[R]) -> bool:
    if old.uid != new.uid or old.resource_version != new.resource_version:
        return False
    # A server that does not count its revisions is compared by content.
    return bool(new.resource_version) or old.raw == new.raw
