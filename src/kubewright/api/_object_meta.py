"""The metadata of objects, and the bytes that an object was read from.

In metadata, unlike elsewhere, an empty string, list or map means absent, as it does for the server. So
`pod.metadata.labels.get("app")` and `pod.metadata.name` need no check for None.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeVar

import msgspec

from kubewright.api._model import Model
from kubewright.api._time import Time

__all__ = ["ManagedFieldsEntry", "ObjectMeta", "Origin", "OwnerReference"]


class OwnerReference(Model):
    """A reference to an owner of an object. The garbage collector deletes the object after its last owner."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Model):
    """The fields that one field manager has set. `fields` decodes them on demand."""

    manager: str | None = None
    operation: str | None = None
    api_version: str | None = None
    time: Time | None = None
    fields_type: str | None = None
    fields_v1: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    subresource: str | None = None

    def fields(self) -> dict[str, Any]:
        """Returns the managed fields, in the server's `f:name` / `k:{...}` notation."""
        return msgspec.json.decode(self.fields_v1, type=dict[str, Any]) if self.fields_v1 is not msgspec.UNSET else {}


class Origin(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The object as the server sent it, for `update` to compare with. Copies of the metadata keep it."""

    kind: type
    raw: bytes
    read_only: str = ""
    """Why the object must not be written, if these bytes are only a part of it, or were changed."""

    def __repr__(self) -> str:
        return f"<Origin of a {self.kind.__name__}, {len(self.raw)} bytes>"


class ObjectMeta(Model, omit_empty=True, dict=True, gc=True):
    """The name, identity and bookkeeping of an object."""

    __list_keys__: ClassVar = {"finalizers": (), "ownerReferences": ("uid",)}

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: list[str] = msgspec.field(default_factory=list)
    owner_references: list[OwnerReference] = msgspec.field(default_factory=list)
    managed_fields: list[ManagedFieldsEntry] = msgspec.field(default_factory=list)
    self_link: str = ""

    @property
    def origin(self) -> Origin | None:
        """The bytes that this object was read from; None if it was created here."""
        return self.__dict__.get("origin")

    def remember(self, origin: Origin | None) -> None:
        """Stores what the object was read from. The client calls it."""
        if origin is None:
            self.__dict__.pop("origin", None)
        else:
            self.__dict__["origin"] = origin

    def mark_read_only(self, reason: str) -> None:
        """Refuses writes of this object, because it was read from a part of it. The cache calls it."""
        if (origin := self.origin) is not None:
            self.remember(Origin(origin.kind, origin.raw, reason))

    def __copy__(self) -> Self:
        return _with_origin(msgspec.structs.replace(self), self.origin)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling and deep copies use this. The origin is immutable, so they can share it.
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return _rebuild, (
            type(self),
            values,
            self.origin and (self.origin.kind, self.origin.raw, self.origin.read_only),
        )

    def __replace__(self, **changes: Any) -> Self:
        return _with_origin(msgspec.structs.replace(self, **changes), self.origin)


_M = TypeVar("_M", bound=ObjectMeta)


def _with_origin(meta: _M, origin: Origin | None) -> _M:
    meta.remember(origin)
    return meta


def _rebuild(kind: type[ObjectMeta], values: dict[str, Any], origin: tuple[type, bytes, str] | None) -> ObjectMeta:
    return _with_origin(kind(**values), Origin(*origin) if origin else None)
