"""What the cache reads of an object without decoding it: the header, and where the managed fields stand.

One pass over the bytes with a decoder that builds nothing else. `without_managed_fields` cuts at the span in the text,
so the rest of the object stays byte for byte what the server sent.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

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
    """The part of the metadata that the header is made of."""

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
    """How far a watch has come; the object of a BOOKMARK event."""

    metadata: _BookmarkMetadata

    @property
    def ends_initial_events(self) -> bool:
        """Whether everything that existed when the watch began has been sent."""
        return (self.metadata.annotations or {}).get("k8s.io/initial-events-end") == "true"


class _Entry(msgspec.Struct, gc=False, rename="camel"):
    manager: str = ""
    operation: str = ""
    subresource: str = ""
    api_version: str = ""
    fields_v1: msgspec.Raw = msgspec.field(name="fieldsV1", default_factory=msgspec.Raw)


header_decoder: Final = msgspec.json.Decoder(_Header)
key_decoder: Final = msgspec.json.Decoder(_KeyHeader)
"""For objects whose header does not decode: who they are."""
bookmark_decoder: Final = msgspec.json.Decoder(Bookmark)
_entries_decoder: Final = msgspec.json.Decoder(list[_Entry] | None)
_fields_decoder: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

_APPLIED: Final = b"a"
_CREATOR: Final = "-create"
_LONGEST_MANAGER: Final = 128
_SHORT: Final = _LONGEST_MANAGER - len(_CREATOR)
_KEY: Final = b'"managedFields"'
_TO_VALUE: Final = len(_KEY) + 1
_SPACE: Final = b" \t\r\n"
_COLON: Final = ord(":")
_COMMA: Final = ord(",")


def revision_of(resource_version: str) -> int:
    """A resourceVersion as the number that it is; 0 for none, and for servers that do not count."""
    return int(resource_version) if resource_version.isascii() and resource_version.isdigit() else 0


def labels_of(raw: bytes) -> dict[str, str]:
    """The labels of an object; none when its header cannot be read."""
    try:
        return header_decoder.decode(raw).metadata.labels or {}
    except msgspec.DecodeError:
        return {}


def without_managed_fields(raw: bytes, value: bytes) -> bytes:
    """The object without `metadata.managedFields`, whose text is `value`.

    When its name stands in the object just once, it can only be that one. Otherwise (an object inside the object has
    them too, or the name is somebody's value) the object is put together again from its fields.
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
    if raw[name + len(_KEY) : begin].strip(_SPACE) != b":":  # a name written with escapes: another one than we found
        return _rebuilt_without(raw)
    after = _skip_space(raw, begin + len(value))
    if raw[after] == _COMMA:  # ours
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
    """A digest of what a field manager has applied to an object, given as the server's JSON; None when that is nothing.

    Two objects with the same digest have the same applied fields under that manager. When they were set does not count,
    and neither do its updates, or its writes to subresources, such as the status.

    An object that was created in the manager's name (`creator_of`), and has not been applied since, counts too: the
    digest is then of what was created, and begins with `CREATED`.
    """
    value = header_decoder.decode(raw).metadata.managed_fields
    return None if value is msgspec.UNSET else digest_of_entries(bytes(value), field_manager)


def mark_of(field_manager: str) -> bytes:
    """What is in managed fields of which `digest_of_entries` is not None."""
    return field_manager[:_SHORT].encode()


def digest_of_entries(managed_fields: bytes, field_manager: str) -> bytes | None:
    """The same, from the JSON of `metadata.managedFields` alone."""
    entries = [entry for entry in _entries_decoder.decode(managed_fields) or () if not entry.subresource]
    if applied := [entry for entry in entries if entry.manager == field_manager and entry.operation == "Apply"]:
        return _APPLIED + _digest_of(applied)
    creator = creator_of(field_manager)
    if created := [entry for entry in entries if entry.manager == creator]:
        return CREATED + _digest_of(created)
    return None


def creator_of(field_manager: str) -> str:
    """The name in which a field manager creates what it means to apply later.

    The server notes a create as an update. In a name of its own, it cannot be mistaken for what the manager updates
    beside its applies, which is to stay when an apply leaves it out.
    """
    return f"{field_manager[:_SHORT]}{_CREATOR}"


def _digest_of(entries: list[_Entry]) -> bytes:
    digest = hashlib.blake2b(digest_size=15)
    for api_version, fields in sorted((entry.api_version, bytes(entry.fields_v1)) for entry in entries):
        digest.update(f"{api_version} {len(fields)} ".encode())
        digest.update(fields)
    return digest.digest()
