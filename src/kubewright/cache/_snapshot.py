"""`Snapshot`: one object as the cache holds it; `Change`: what handlers are told about it."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import msgspec

from kubewright.api import DecodeError, Object, decode
from kubewright.cache._key import ObjectKey

__all__ = ["CREATED", "Change", "ChangeType", "Owner", "Snapshot"]

R = TypeVar("R", bound=Object)

ChangeType: TypeAlias = Literal["added", "updated", "deleted", "resync"]

CREATED: Final = b"c"
"""How `Snapshot.applied` begins for an object that was created and not applied since."""


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An owner reference, as the cache keeps it."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False

    @property
    def group(self) -> str:
        """The API group of the owner; empty for the core group."""
        return self.api_version.rpartition("/")[0]


class _LazyMeta(msgspec.Struct, gc=False, rename="camel"):
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class _LazyHeader(msgspec.Struct, gc=False):
    metadata: _LazyMeta


_lazy_decoder = msgspec.json.Decoder(_LazyHeader)


class Snapshot(msgspec.Struct, Generic[R], frozen=True, eq=False, gc=False):
    """One object at one moment: its JSON and a small header, which is read without decoding the rest.

    Immutable, so it can be kept, compared and handed to other threads. `object()` makes an object that belongs to the
    caller alone. Two snapshots are the same object's when their `uid` is, and the same state when `resource_version`
    is too.
    """

    kind: type[R]
    key: ObjectKey
    uid: str
    resource_version: int
    generation: int
    label_items: tuple[tuple[str, str], ...]
    """The labels as pairs, sorted by key. Shared between the objects that have the same ones."""
    owners: tuple[Owner, ...]
    deleting: bool
    """Whether the object is being deleted (`metadata.deletionTimestamp` is set)."""
    raw: bytes
    """The object's JSON, without the managed fields unless the informer was told to keep them."""
    applied: bytes | None = None
    """A digest of what the informer's `field_manager` has applied to the object, or made it with in order to apply it
    later; None when that is nothing."""
    problem: str = ""
    """Why the object cannot be used, where that is known already; `object()` raises it."""

    @property
    def name(self) -> str:
        """The object's name."""
        return self.key.name

    @property
    def namespace(self) -> str:
        """The object's namespace; empty when it is cluster-scoped."""
        return self.key.namespace

    @property
    def labels(self) -> dict[str, str]:
        """The labels; a dict of your own."""
        return dict(self.label_items)

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations; a dict of your own, decoded each time."""
        return _lazy_decoder.decode(self.raw).metadata.annotations or {}

    @property
    def finalizers(self) -> list[str]:
        """The finalizers; a list of your own, decoded each time."""
        return _lazy_decoder.decode(self.raw).metadata.finalizers or []

    @property
    def only_created(self) -> bool:
        """Whether the informer's `field_manager` created the object and has not applied it since."""
        return self.applied is not None and self.applied.startswith(CREATED)

    @property
    def controller(self) -> Owner | None:
        """The owner that controls the object, if it has one."""
        return next((owner for owner in self.owners if owner.controller), None)

    def object(self) -> R:
        """The typed object: fresh and private each time. Raises `DecodeError` when it does not fit its model."""
        if self.problem:
            raise DecodeError(f"{self.kind.__name__} {self.key}", "", self.problem)
        return decode(self.kind, self.raw)

    def __str__(self) -> str:
        return f"{self.kind.__name__} {self.key} at {self.resource_version}"

    def __repr__(self) -> str:
        # Never the content: snapshots of Secrets end up in logs and tracebacks too.
        return f"<Snapshot of {self}, {len(self.raw)} bytes>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("kind", self.kind), ("key", self.key), ("resource_version", self.resource_version)]


class Change(msgspec.Struct, Generic[R], frozen=True, eq=False, gc=False):
    """What happened to one object, in the order in which the server did it.

    `added` has `new`, `updated` has both, `deleted` has `old` (the last state that is known), and `resync` has the same
    snapshot twice. Both are confirmed states: what this program wrote itself counts when the watch has delivered it.
    """

    type: ChangeType
    key: ObjectKey
    old: Snapshot[R] | None
    new: Snapshot[R] | None
    initial: bool = False
    """The object was there when the handler began to listen: an `added` that is not news."""
    missed: bool = False
    """A deletion that was noticed only because a new list lacks the object: `old` may not be its very last state."""

    @property
    def snapshot(self) -> Snapshot[R]:
        """The newest state: `new`, or `old` for a deletion."""
        newest = self.new or self.old
        assert newest is not None
        return newest
