"""`OwnWrites`: recognizes events that only report a controller's own writes.

A reconcile that writes gets the server's answer, so the event about that write contains nothing new for it. An event is
an echo if a write during a reconcile of the same key returned its resourceVersion, and that write changed only what the
reconciler asked for:

- a write of the status, which the server rejects if the object has changed since it was read;
- the creation of another object;
- the finalizer that the controller adds before it calls the reconciler.

Other writes trigger a reconcile: a reconciler may add its own finalizer or label with `ctx.update`, and return.
Deletions and changes by other clients have other resourceVersions. Each controller has its own `OwnWrites`, so writes
of one controller always trigger the others.
"""

from __future__ import annotations

from typing import Any, Final

from kubewright.api import Object
from kubewright.cache import Change, ObjectKey
from kubewright.lru import LRUMemory

__all__ = ["OwnWrites"]

_REMEMBERED: Final = 10_000


class OwnWrites:
    """The resourceVersions that writes of one controller returned, in bounded memory.

    A resourceVersion that is dropped too early costs one reconcile that finds nothing to do.
    """

    def __init__(self, remember: int = _REMEMBERED) -> None:
        self._writes: LRUMemory[tuple[type[Object], ObjectKey, str], ObjectKey] = LRUMemory(remember)

    def __len__(self) -> int:
        return len(self._writes)

    def note(self, written: Object, key: ObjectKey) -> None:
        """Records a write during a reconcile of `key`. The event about it does not trigger that key."""
        version = written.metadata.resource_version
        self._writes.put((type(written), ObjectKey.of(written), version), key)

    def is_echo(self, change: Change[Any], key: ObjectKey) -> bool:
        """Returns whether a reconcile of this key wrote the change; True once for each write."""
        new = change.new
        if not len(self._writes) or new is None or change.initial or change.type not in ("added", "updated"):
            return False
        place = (new.kind, change.key, str(new.resource_version))
        if self._writes.get(place) != key:
            return False
        self._writes.discard(place)
        return True
