"""Request bodies of objects, and the response to a deletion."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.api import DecodeError, Object, Untyped, decode, encode, info_of, to_dict
from kubewright.api.wire import is_kept
from kubewright.client.wire._paths import info_of_object
from kubewright.diff import ListKeys, Operation, diff

__all__ = ["apply_body", "changes", "kept_object", "request_body"]


def request_body(obj: Object, subresource: str | None = None) -> bytes:
    """Returns the whole object. The status is omitted if it is a subresource, because the server would drop it."""
    _refuse_read_only(obj)
    content = _top_level(obj)
    if subresource is None and "status" in info_of(obj).subresources:
        content.pop("status", None)
    return _encoded(obj, content)


def apply_body(obj: Object, subresource: str | None = None) -> bytes:
    """Returns the object for server-side apply, without the fields that only the server writes."""
    _refuse_read_only(obj)
    content = _top_level(obj)
    content["metadata"] = msgspec.structs.replace(
        obj.metadata,
        managed_fields=[],
        creation_timestamp=None,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
        generation=0,
        self_link="",
    )
    if "status" in info_of(obj).subresources:
        if subresource is None:
            content.pop("status", None)
        elif subresource == "status":
            content = {name: content[name] for name in ("apiVersion", "kind", "metadata", "status") if name in content}
    return _encoded(obj, content)


def changes(obj: Object, subresource: str | None = None) -> list[Operation]:
    """Returns the JSON Patch for the changes since the object was read; empty if there are none.

    The patch writes the resourceVersion that was read, so that the server rejects it as a conflict if another client
    has changed the object. (A `test` operation would work too, but its failure does not say what failed.)
    """
    kind, info = type(obj), info_of_object(obj)
    origin = obj.metadata.origin
    if origin is None:
        raise ValueError(
            f"{obj} was not read from a server, so there is nothing to compare it with: use apply, or replace"
        )
    _refuse_read_only(obj)
    if origin.kind is not kind:
        raise ValueError(f"{obj} carries the metadata of a {origin.kind.__name__}: it cannot be updated")
    _refuse_strings_for_bytes(obj)
    raw = msgspec.json.decode(origin.raw)
    before, after = _before(kind, origin.raw), to_dict(obj)
    operations = [
        operation
        for operation in diff(ListKeys(kind), raw, before, after)
        if _belongs(operation["path"], subresource, own_status="status" in info.subresources)
    ]
    if not operations:
        return []
    version = raw["metadata"].get("resourceVersion")
    if not version:
        raise ValueError(
            f"{obj} was read without a resourceVersion, so an update could overwrite changes of other clients: read it"
            " again"
        )
    return [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}, *operations]


def _refuse_read_only(obj: Object) -> None:
    """Raises ValueError for an object of which only a part is known: a write would lose the rest."""
    origin = obj.metadata.origin
    if origin is not None and origin.read_only:
        name = info_of(obj).kind
        raise ValueError(
            f"{obj} is read-only: {origin.read_only}. Read it with client.get({name}, ...) and write that object, or"
            " apply a new object with the fields to set"
        )


def _belongs(path: str, subresource: str | None, *, own_status: bool) -> bool:
    """Whether a change is for this endpoint. Metadata that only the server writes is never sent."""
    if path in ("/metadata/resourceVersion", "/metadata/managedFields", "/metadata/generation"):
        return False
    in_status = path == "/status" or path.startswith("/status/")
    if subresource == "status":
        return in_status
    return not (in_status and own_status)


def _before(kind: type[Object], raw: bytes) -> Any:
    return to_dict(decode(kind, raw))


def _encoded(obj: Object, content: dict[str, Any]) -> bytes:
    try:
        return encode(content)
    except ValueError as error:
        raise ValueError(f"{obj}: {error}") from None


def _top_level(obj: Object) -> dict[str, Any]:
    if isinstance(obj, Untyped):
        return {"apiVersion": obj.api_version, "kind": obj.kind, "metadata": obj.metadata, **obj.content}
    _refuse_strings_for_bytes(obj)
    names = zip(obj.__struct_fields__, obj.__struct_encode_fields__, strict=True)
    return {wire: value for name, wire in names if (value := getattr(obj, name)) is not None}


_BYTES: Final = {"Secret": ("data", "string_data"), "ConfigMap": ("binary_data", "data")}
"""Kinds with values of bytes: the field for bytes, and the field for strings."""


def _refuse_strings_for_bytes(obj: Object) -> None:
    """Rejects strings among bytes. Bytes are base64 in JSON, so a string would silently be stored as something else."""
    info = info_of(obj)
    if info.group or info.kind not in _BYTES:
        return
    field, string_field = _BYTES[info.kind]
    for name, value in (getattr(obj, field, None) or {}).items():
        if not isinstance(value, bytes | bytearray | memoryview):
            given = f"{info.kind}.{field}[{name!r}] must be bytes, not {type(value).__name__}"
            raise TypeError(f"{given}: put strings into {string_field}, or encode them")


class _Going(msgspec.Struct, gc=False, rename="camel"):
    deletion_timestamp: str | None = None


class _Answer(msgspec.Struct, gc=False):
    kind: str = ""
    metadata: _Going | None = None


_answers = msgspec.json.Decoder(_Answer)


def kept_object(kind: type[Object], answer: bytes) -> Object | None:
    """Returns the object in the response to a deletion if something keeps it; None if it is gone.

    The server answers with a Status, or with the last state of the object, whether it is gone or not.
    """
    try:
        response = _answers.decode(answer)
        going = response.metadata
        if response.kind == "Status" or going is None or going.deletion_timestamp is None:
            return None
        return decode(kind, answer) if is_kept(info_of(kind), answer) else None
    except (msgspec.DecodeError, DecodeError):
        return None  # the deletion was accepted, and that is what matters
