"""`CacheView`: the caches as apply and prune use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from kubewright.api import Object
from kubewright.cache import ObjectKey, Snapshot

__all__ = ["CacheView"]

R = TypeVar("R", bound=Object)


class CacheView(Protocol):
    """The caches that `Applier` uses. `Snapshot.applied` must describe the applier's field manager."""

    def covers(self, kind: type[Object], namespace: str) -> bool:
        """Returns whether every object of the kind in the namespace is cached. Others are read from the server."""

    def get(self, kind: type[R], key: ObjectKey) -> Snapshot[R] | None:
        """Returns the newest known state of the object, including this program's own writes."""

    def controlled_by(self, kind: type[R], uid: str) -> Iterable[Snapshot[R]]:
        """Returns the objects whose controller has this uid."""

    def written(self, obj: Object) -> None:
        """Stores the server's answer to a write, including the managed fields."""

    def removed(self, kind: type[Object], key: ObjectKey, uid: str) -> None:
        """Hides an object whose deletion was requested."""
