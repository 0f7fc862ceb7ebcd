"""`OwnWrites`: which events are only the echo of what a controller wrote itself.

A reconcile that writes sees the server's answer at once, so the event about that write has nothing new for it. An event
is an echo if its resourceVersion is one that a write of the same reconciled object returned, and that write was known
to change nothing but what the reconciler asked for:

- a write of the status, which the server refuses unless the object is the one that was read;
- the creation of another object;
- the finalizer that the controller puts on an object before it calls the reconciler.

Other writes wake the key: a reconciler may add its own finalizer or label with `ctx.update`, and return. Deletions and
the changes of others have other resourceVersions. Other controllers have their own `OwnWrites`, and are always woken.
"""

from __future__ import annotations

from typing import Any, Final

from kubewright.api import Object
from kubewright.cache import Change, ObjectKey
from kubewright.lru import LRUMemory

__all__ = ["OwnWrites"]

_REMEMBERED: Final = 10_000


class OwnWrites:
    """Resource versions that writes of one controller returned, in bounded memory.

    One that is forgotten too early costs a reconcile that finds nothing to do.
    """

    def __init__(self, remember: int = _REMEMBERED) -> None:
        self._writes: LRUMemory[tuple[type[Object], ObjectKey, str], ObjectKey] = LRUMemory(remember)

    def __len__(self) -> int:
        return len(self._writes)

    def note(self, written: Object, key: ObjectKey) -> None:
        """This was written while `key` was reconciled, and the event about it is no news for that key."""
        version = written.metadata.resource_version
        self._writes.put((type(written), ObjectKey.of(written), version), key)

    def is_echo(self, change: Change[Any], key: ObjectKey) -> bool:
        """Whether the change is only what a reconcile of this key wrote. Says so once for each write."""
        new = change.new
        if not len(self._writes) or new is None or change.initial or change.type not in ("added", "updated"):
            return False
        place = (new.kind, change.key, str(new.resource_version))
        if self._writes.get(place) != key:
            return False
        self._writes.discard(place)
        return True
