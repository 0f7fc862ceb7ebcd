"""`SnapshotDecoder`: makes snapshots of the bytes of the server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NoReturn, TypeVar, cast

import msgspec

from kubewright.api import Object, info_of
from kubewright.api.wire import UNREADABLE, shallow
from kubewright.cache._arguments import Transform
from kubewright.cache._header import (
    Metadata,
    digest_of_entries,
    header_decoder,
    key_decoder,
    mark_of,
    revision_of,
    without_managed_fields,
)
from kubewright.cache._key import ObjectKey, key_of
from kubewright.cache._snapshot import MetadataSnapshot, Owner, Snapshot, TransformedSnapshot
from kubewright.client.watch import decode_event
from kubewright.interning import InternTable
from kubewright.user_code import has_to_pass

__all__ = [
    "SnapshotDecoder",
    "Transform",
    "UnreadableObject",
    "metadata_kind",
    "split_event",
    "transform_json",
    "whole_kind",
]

R = TypeVar("R", bound=Object)

_INTERNED_AT_MOST: Final = 20_000
_EVENTS: Final = tuple(
    (kind, f'{{"type":"{kind}","object":{{'.encode()) for kind in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
)
_NAMED: Final = (b'{"apiVersion":', b'{"kind":')
_PARTIAL: Final = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",'


class UnreadableObject(ValueError):
    """Bytes that are not a Kubernetes object: not even a name can be read."""


class _Names(msgspec.Struct, gc=False):
    kind: str = ""


_names_decoder: Final = msgspec.json.Decoder(_Names)
_fields_decoder: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def split_event(line: bytes, *, exactly: bool = False) -> tuple[str, bytes]:
    """Returns the type and the object of a watch event.

    Kubernetes always writes events in the same way, so the object is cut out without decoding the line. If the cut is
    wrong, the object does not decode, and the caller tries again with `exactly`.
    """
    if not exactly and line.endswith(b"}}\n"):
        for kind, prefix in _EVENTS:
            if line.startswith(prefix):
                return kind, line[len(prefix) - 1 : -2]
    try:
        event = decode_event(line)
    except UNREADABLE as error:
        raise UnreadableObject(f"not a watch event: {error}") from None
    return event.type, bytes(event.object)


def transform_json(function: Callable[[dict[str, Any]], dict[str, Any]]) -> Transform:
    """Returns a transform that calls a function with the decoded JSON."""

    def transform(raw: bytes) -> bytes:
        return msgspec.json.encode(function(msgspec.json.decode(raw, type=dict[str, Any])))

    return transform


def metadata_kind(kind: type[Object]) -> type[Object]:
    """Returns a class for the objects of a kind of which only the metadata is known."""
    metaclass: Any = type(Object)
    name = kind.__name__

    def __getattr__(self: Object, attribute: str) -> NoReturn:  # noqa: N807  # of the class below
        raise AttributeError(
            f"this {name} has no {attribute!r}: its cache has only the metadata (metadata_only). Read the whole object"
            f" with client.get({name}, ...), or cache whole objects with metadata_only=False"
        )

    made: type[Object] = metaclass(
        name, (Object,), {"__module__": __name__, "__doc__": f"The metadata of a {name}.", "__getattr__": __getattr__}
    )
    made.__resource__ = info_of(kind)
    made.__whole_kind__ = kind  # type: ignore[attr-defined]  # for `whole_kind`
    return made


def whole_kind(kind: type[Object]) -> type[Object]:
    """Returns the class of whole objects for one that `metadata_kind` returned. Returns other classes as they are."""
    whole: type[Object] = getattr(kind, "__whole_kind__", kind)
    return whole


class SnapshotDecoder(Generic[R]):
    """Makes the snapshots of one kind. Equal labels, owners and namespaces of many objects are stored once."""

    def __init__(
        self,
        kind: type[R],
        *,
        metadata_only: bool = False,
        field_manager: str | None = None,
        keep_managed_fields: bool = False,
        transform: Transform | None = None,
        owned_by: Sequence[type[Object]] = (),
    ) -> None:
        info = info_of(kind)
        self._kind = kind
        self._metadata_only = metadata_only
        # Objects without one of these owners are reduced to their metadata.
        self._owned_by = frozenset((owner.group, owner.kind) for owner in map(info_of, owned_by))
        self._partial_kind = cast("type[R]", metadata_kind(kind)) if owned_by else kind
        self._make: type[Snapshot[R]] = Snapshot
        if metadata_only:
            self._make = MetadataSnapshot
        elif transform is not None:
            self._make = TransformedSnapshot
        self._field_manager = field_manager or ""
        self._mark = mark_of(field_manager) if field_manager is not None else None
        self._keep_managed_fields = keep_managed_fields
        self._transform = transform
        self._names = f'{{"apiVersion":"{info.api_version}","kind":"{info.kind}",'.encode()
        self._shared = InternTable(_INTERNED_AT_MOST)

    def named(self, raw: bytes) -> bytes:
        """Returns the object with its apiVersion and kind, which the items of built-in lists lack.

        Raises `UnreadableObject` for bytes that are not an object.
        """
        try:
            named = raw.startswith(_NAMED) or bool(_names_decoder.decode(raw).kind)
        except UNREADABLE as error:
            raise UnreadableObject(f"not a Kubernetes object: {error}") from None
        return raw if named else self._names + raw[1:]

    def snapshot(self, raw: bytes) -> Snapshot[R]:
        """Returns the snapshot of an object. Raises `UnreadableObject` if not even its name can be read."""
        try:
            metadata = header_decoder.decode(raw).metadata
        except RecursionError:
            return self._broken(raw, "nested too deeply")
        except UNREADABLE as error:
            return self._broken(raw, f"metadata: {error}")
        applied: bytes | None = None
        if metadata.managed_fields is not msgspec.UNSET:
            entries = bytes(metadata.managed_fields)
            # Most objects have no fields of this manager. (`in` would try a number first and raise an error.)
            if self._mark is not None and entries.find(self._mark) >= 0:
                applied = digest_of_entries(entries, self._field_manager)
            if not self._keep_managed_fields:
                raw = without_managed_fields(raw, entries)
        if self._metadata_only:
            raw = self._only_metadata(raw)
        elif self._owned_by and not self._is_owned(metadata):
            return self._made(metadata, self._only_metadata(raw), applied, self._partial_kind, MetadataSnapshot)
        if self._transform is not None:
            try:
                raw, metadata = self._transformed(self._transform, raw, metadata)
            except BaseException as error:  # a failure of the user's transform affects this object only
                if has_to_pass(error):
                    raise
                return self._broken(raw, f"the transform failed: {type(error).__name__}: {error}")
        return self._made(metadata, raw, applied, self._kind, self._make)

    def _is_owned(self, metadata: Metadata) -> bool:
        return any((owner.group, owner.kind) in self._owned_by for owner in metadata.owner_references or ())

    def _made(
        self, metadata: Metadata, raw: bytes, applied: bytes | None, kind: type[R], make: type[Snapshot[R]]
    ) -> Snapshot[R]:
        intern = self._shared.intern
        labels: tuple[tuple[str, str], ...] = ()
        if metadata.labels:
            labels = tuple(sorted(metadata.labels.items()))
            labels = intern(labels)
        owners: tuple[Owner, ...] = ()
        if metadata.owner_references:
            owners = tuple(metadata.owner_references)
            owners = intern(owners)
        if applied is not None:
            applied = intern(applied)
        return make(
            kind,
            key_of((intern(metadata.namespace), metadata.name)),
            metadata.uid,
            revision_of(metadata.resource_version),
            metadata.generation,
            labels,
            owners,
            metadata.deletion_timestamp is not None,
            raw,
            applied,
        )

    def _only_metadata(self, raw: bytes) -> bytes:
        if raw.startswith(_PARTIAL):
            return self._names + raw[len(_PARTIAL) :]
        metadata = bytes(_fields_decoder.decode(raw)["metadata"])
        return b'%b"metadata":%b}' % (self._names, metadata)

    def _transformed(self, transform: Transform, raw: bytes, before: Metadata) -> tuple[bytes, Metadata]:
        raw = bytes(transform(raw))
        after = header_decoder.decode(raw).metadata
        for field in ("name", "namespace", "uid", "resource_version"):
            if getattr(after, field) != getattr(before, field):
                raise ValueError(f"it changed metadata.{field}")
        return raw, after

    def _broken(self, raw: bytes, problem: str) -> Snapshot[R]:
        """Returns a snapshot without content for an object that cannot be read."""
        try:
            metadata = key_decoder.decode(shallow(raw)).metadata
        except UNREADABLE as error:
            raise UnreadableObject(f"not a Kubernetes object: {error}") from None
        return Snapshot(
            self._kind,
            ObjectKey(metadata.namespace, metadata.name),
            metadata.uid,
            revision_of(metadata.resource_version),
            0,
            (),
            (),
            False,
            b'{"metadata":{}}',
            None,
            problem,
        )
