"""`Entry` and `Event`: an object at one revision, and a change; and the errors of the storage."""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from kubewright.cluster.machinery._resources import JSONObject
from kubewright.redaction import Redacted

__all__ = ["Compacted", "Entry", "Event", "EventKind", "RevisionConflict", "Subscriber"]

EventKind: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]
_decoder: Final = msgspec.json.Decoder(dict[str, Any])


class Compacted(Exception):
    """The revision is compacted. `oldest` is the first available revision."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is forgotten; history begins at {oldest}")
        self.revision = revision
        self.oldest = oldest


class RevisionConflict(Exception):
    """The stored object is not the one that the writer read."""


class Entry(Redacted, msgspec.Struct, frozen=True, gc=False):
    """An object at one revision."""

    redacted = frozenset({"raw"})

    namespace: str
    name: str
    revision: int
    raw: bytes
    labels: dict[str, str] | None
    version: str = ""
    """The apiVersion in which it is stored; matters where versions differ. Empty for objects without one."""

    @property
    def key(self) -> str:
        """The key among the objects of its kind. Lists are sorted by it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def decode(self) -> JSONObject:
        """Returns a new copy of the object, without apiVersion and kind."""
        return _decoder.decode(self.raw)


class Event:
    """A write. `entry` is the object after it, or the deleted one; `previous` the one before, None for a new object.

    `frames` caches encoded forms while subscribers are notified, so that each is encoded once for all watches.
    """

    __slots__ = ("entry", "frames", "kind", "previous", "revision", "storage")

    def __init__(self, storage: str, kind: EventKind, entry: Entry, previous: Entry | None) -> None:
        self.storage = storage
        self.kind = kind
        self.revision = entry.revision
        self.entry = entry
        self.previous = previous
        self.frames: dict[Any, Any] = {}


class Subscriber(Protocol):
    """Is notified of writes. `offer` must neither raise nor write."""

    def offer(self, event: Event) -> None:
        """Handles a write."""
