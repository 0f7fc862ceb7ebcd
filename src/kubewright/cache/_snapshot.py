"""`Snapshot`: one object in a cache; `Change`: a difference between two snapshots, for handlers."""

from __future__ import annotations

from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import msgspec

from kubewright.api import DecodeError, Object, decode
from kubewright.cache._key import ObjectKey

__all__ = ["CREATED", "Change", "ChangeType", "MetadataSnapshot", "Owner", "Snapshot", "TransformedSnapshot"]

R = TypeVar("R", bound=Object)

ChangeType: TypeAlias = Literal["added", "updated", "deleted", "resync", "left"]

CREATED: Final = b"c"
"""The prefix of `Snapshot.applied` for an object that was created and not applied since."""


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An owner reference."""

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

    Immutable: you can store it, compare it and pass it to other threads. `object()` returns an object that belongs to
    the caller. Two snapshots are of the same object if their `uid` is equal, and of the same state if
    `resource_version` is equal as well.
    """

    kind: type[R]
    key: ObjectKey
    uid: str
    resource_version: int
    generation: int
    label_items: tuple[tuple[str, str], ...]
    """The labels as pairs, sorted by key. Objects with the same labels share them."""
    owners: tuple[Owner, ...]
    deleting: bool
    """Whether the object is being deleted (`metadata.deletionTimestamp` is set)."""
    raw: bytes
    """The object's JSON. Without managed fields, unless the informer keeps them."""
    applied: bytes | None = None
    """A digest of the fields that the informer's `field_manager` has applied, or has created in order to apply them
    later; None if there are none."""
    problem: str = ""
    """Why the object cannot be used, if that is already known. `object()` raises it."""

    @property
    def partial(self) -> bool:
        """Whether the JSON is only a part of the object, or a transform has changed it."""
        return False

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
        """The labels. Each call returns a new dict."""
        return dict(self.label_items)

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations. Each call decodes a new dict."""
        return _lazy_decoder.decode(self.raw).metadata.annotations or {}

    @property
    def finalizers(self) -> list[str]:
        """The finalizers. Each call decodes a new list."""
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
        """Decodes and returns a new typed object. Raises `DecodeError` if the JSON does not fit its model."""
        if self.problem:
            raise DecodeError(f"{self.kind.__name__} {self.key}", "", self.problem)
        return decode(self.kind, self.raw)

    def __str__(self) -> str:
        return f"{self.kind.__name__} {self.key} at {self.resource_version}"

    def __repr__(self) -> str:
        # Never the content: snapshots of Secrets appear in logs and tracebacks.
        return f"<Snapshot of {self}, {len(self.raw)} bytes>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("kind", self.kind), ("key", self.key), ("resource_version", self.resource_version)]


class MetadataSnapshot(Snapshot[R], frozen=True, eq=False, gc=False):
    """A snapshot of an object's metadata. Its objects are read-only."""

    @property
    def partial(self) -> bool:
        """See `Snapshot.partial`."""
        return True

    def object(self) -> R:
        """See `Snapshot.object`."""
        return _read_only(super().object(), "its cache has only the metadata (metadata_only)")


class TransformedSnapshot(Snapshot[R], frozen=True, eq=False, gc=False):
    """A snapshot of an object that a transform has changed. Its objects are read-only."""

    @property
    def partial(self) -> bool:
        """See `Snapshot.partial`."""
        return True

    def object(self) -> R:
        """See `Snapshot.object`."""
        return _read_only(super().object(), "the transform of its cache has changed it")


def _read_only(obj: R, reason: str) -> R:
    obj.metadata.mark_read_only(reason)
    return obj


class Change(msgspec.Struct, Generic[R], frozen=True, eq=False, gc=False):
    """A change of one object. Changes arrive in the order of the server.

    `added` has `new`, `updated` has both, `deleted` has `old` (the last known state), and `resync` has the same
    snapshot twice. `left` has `old`: the object exists, but the cache does not contain its namespace any more. All are
    confirmed states: an own write counts when the watch has delivered it.

    A cache with a label or field selector reports an object that leaves the selection as `deleted`: the server sends
    the same event.
    """

    type: ChangeType
    key: ObjectKey
    old: Snapshot[R] | None
    new: Snapshot[R] | None
    initial: bool = False
    """The object existed before the handler was added."""
    missed: bool = False
    """The watch missed the deletion, and a new list lacks the object: `old` may not be its last state."""

    @property
    def snapshot(self) -> Snapshot[R]:
        """The newest state: `new`, or `old` for a deletion."""
        newest = self.new or self.old
        assert newest is not None
        return newest
