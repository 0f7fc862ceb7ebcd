"""The part of an object that the cache reads without decoding it: the header, and the position of the managed fields.

It takes one pass over the bytes, with a decoder that builds nothing else. `without_managed_fields` cuts the bytes, so
the rest of the object stays exactly as the server sent it.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from kubewright.arguments import LONGEST_FIELD_MANAGER, first_bytes
from kubewright.cache._snapshot import CREATED, Owner

__all__ = [
    "Bookmark",
    "Metadata",
    "applied_digest",
    "bookmark_decoder",
    "creator_of",
    "digest_of_entries",
    "header_decoder",
    "key_decoder",
    "labels_of",
    "mark_of",
    "revision_of",
    "without_managed_fields",
]


class Metadata(msgspec.Struct, gc=False, rename="camel"):
    """The part of the metadata that becomes the header."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    owner_references: list[Owner] | None = None
    deletion_timestamp: str | None = None
    managed_fields: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Header(msgspec.Struct, gc=False):
    metadata: Metadata


class _KeyMetadata(msgspec.Struct, gc=False, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _KeyHeader(msgspec.Struct, gc=False):
    metadata: _KeyMetadata


class _BookmarkMetadata(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class Bookmark(msgspec.Struct, gc=False):
    """The object of a BOOKMARK event: the position of a watch."""

    metadata: _BookmarkMetadata

    @property
    def ends_initial_events(self) -> bool:
        """Whether the server has sent all objects that existed when the watch began."""
        return (self.metadata.annotations or {}).get("k8s.io/initial-events-end") == "true"


class _Entry(msgspec.Struct, gc=False, rename="camel"):
    manager: str = ""
    operation: str = ""
    subresource: str = ""
    api_version: str = ""
    fields_v1: msgspec.Raw = msgspec.field(name="fieldsV1", default_factory=msgspec.Raw)


header_decoder: Final = msgspec.json.Decoder(_Header)
key_decoder: Final = msgspec.json.Decoder(_KeyHeader)
"""Name and namespace of an object whose header does not decode."""
bookmark_decoder: Final = msgspec.json.Decoder(Bookmark)
_entries_decoder: Final = msgspec.json.Decoder(list[_Entry] | None)
_fields_decoder: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

_APPLIED: Final = b"a"
_CREATOR: Final = "-create"
_SHORT: Final = LONGEST_FIELD_MANAGER - len(_CREATOR)
_KEY: Final = b'"managedFields"'
_TO_VALUE: Final = len(_KEY) + 1
_SPACE: Final = b" \t\r\n"
_COLON: Final = ord(":")
_COMMA: Final = ord(",")


def revision_of(resource_version: str) -> int:
    """Returns a resourceVersion as a number; 0 if it is empty or not a number."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else 0


def labels_of(raw: bytes) -> dict[str, str]:
    """Returns the labels of an object; none if its header cannot be read."""
    try:
        return header_decoder.decode(raw).metadata.labels or {}
    except msgspec.DecodeError:
        return {}


def without_managed_fields(raw: bytes, value: bytes) -> bytes:
    """Returns the object without `metadata.managedFields`, whose JSON is `value`.

    If the name of the field occurs only once in the object, it is that one. Otherwise (an embedded object has managed
    fields too, or the name is a value) the object is rebuilt from its fields.
    """
    name = raw.find(_KEY)
    begin = name + _TO_VALUE
    after = begin + len(value)
    if name >= 0 and raw.startswith(value, begin) and raw[begin - 1] == _COLON and raw[after] == _COMMA:
        if raw.find(_KEY, after) < 0:  # as servers write it
            return raw[:name] + raw[after + 1 :]
        return _rebuilt_without(raw)
    if name < 0 or raw.find(_KEY, name + 1) >= 0:
        return _rebuilt_without(raw)
    begin = raw.find(value, begin)
    if raw[name + len(_KEY) : begin].strip(_SPACE) != b":":  # a name written with escapes: not the one that was found
        return _rebuilt_without(raw)
    after = _skip_space(raw, begin + len(value))
    if raw[after] == _COMMA:  # the one to remove
        return raw[:name] + raw[_skip_space(raw, after + 1) :]
    before = raw[:name].rstrip(_SPACE)
    return before.removesuffix(b",") + raw[after:]


def _skip_space(raw: bytes, at: int) -> int:
    while raw[at] in _SPACE:
        at += 1
    return at


def _rebuilt_without(raw: bytes) -> bytes:
    fields = _fields_decoder.decode(raw)
    metadata = _fields_decoder.decode(fields["metadata"])
    del metadata["managedFields"]
    fields["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(fields)


def applied_digest(raw: bytes, field_manager: str) -> bytes | None:
    """Returns a digest of the fields that a manager has applied to an object, given as JSON; None if there are none.

    Two objects with the same digest have the same applied fields under that manager. Timestamps do not count, nor do
    the manager's updates and its writes to subresources such as the status.

    An object that was created in the manager's name (`creator_of`) and not applied since counts too. Its digest is that
    of the creation and begins with `CREATED`.
    """
    value = header_decoder.decode(raw).metadata.managed_fields
    return None if value is msgspec.UNSET else digest_of_entries(bytes(value), field_manager)


def mark_of(field_manager: str) -> bytes:
    """Returns bytes that occur in all managed fields for which `digest_of_entries` returns a digest."""
    return _short(field_manager).encode()


def digest_of_entries(managed_fields: bytes, field_manager: str) -> bytes | None:
    """Returns the same digest as `applied_digest`, given only the JSON of `metadata.managedFields`."""
    entries = [entry for entry in _entries_decoder.decode(managed_fields) or () if not entry.subresource]
    if applied := [entry for entry in entries if entry.manager == field_manager and entry.operation == "Apply"]:
        return _APPLIED + _digest_of(applied)
    creator = creator_of(field_manager)
    if created := [entry for entry in entries if entry.manager == creator]:
        return CREATED + _digest_of(created)
    return None


def creator_of(field_manager: str) -> str:
    """Returns the name in which a field manager creates objects that it will apply later.

    The server records a create as an update. A separate name distinguishes it from the manager's other updates, which
    must stay when an apply omits them.
    """
    return f"{_short(field_manager)}{_CREATOR}"


def _short(field_manager: str) -> str:
    """Returns a prefix that leaves room for `_CREATOR`. The server limits bytes, not characters."""
    return first_bytes(field_manager, _SHORT)


def _digest_of(entries: list[_Entry]) -> bytes:
    digest = hashlib.blake2b(digest_size=15)
    for api_version, fields in sorted((entry.api_version, bytes(entry.fields_v1)) for entry in entries):
        digest.update(f"{api_version} {len(fields)} ".encode())
        digest.update(fields)
    return digest.digest()
