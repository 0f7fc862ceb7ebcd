"""Bytes to objects and back, with errors that name the object and the field.

`decode` is one call into msgspec. Only when that fails is the object looked at again: built-in kinds get Go's zero
values where the server sent null or nothing for a required field (it does: the `rules` of an empty ClusterRole), and an
object that still does not fit its model raises `DecodeError`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from kubewright.api._object import Object, name_kind
from kubewright.api._object_meta import ObjectMeta, Origin
from kubewright.api._repair import repair
from kubewright.api._untyped import Untyped
from kubewright.api._values import dec_hook, enc_hook

__all__ = ["UNREADABLE", "DecodeError", "decode", "encode", "from_dict", "to_dict"]

T = TypeVar("T")

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no JSON, or not what is expected in it, or no text, or absurdly deep."""

_encoder = msgspec.json.Encoder(enc_hook=enc_hook)

# How values stand in what msgspec says, and in what our own types say.
_UNKNOWN_VALUE: Final = re.compile(r"^invalid (enum )?value .*", re.DOTALL)
_VALUE: Final = re.compile(r"""^('.*'|".*"|.{1,20}\.\.\.) is not""", re.DOTALL)


class DecodeError(ValueError):
    """What was read does not fit the model. `object_name` and `path` say where, `reason` says why.

    The text lacks the value that does not fit: it may be a secret, and logs and events are read by many. `reason` has
    it, `reason_without_value` is what the text says.
    """

    def __init__(self, object_name: str, path: str, reason: str) -> None:
        unknown = _UNKNOWN_VALUE.sub("not one of the values that the model knows", reason)
        self.reason_without_value = _VALUE.sub("the value is not", unknown)
        super().__init__(": ".join(part for part in (object_name, path, self.reason_without_value) if part))
        self.object_name = object_name
        self.path = path
        self.reason = reason


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_, dec_hook=dec_hook)


def decode(type_: type[T], raw: bytes) -> T:
    """The object in these bytes. A kind remembers the bytes, so that a later `update` sends only what changed."""
    kind: Any = type_
    try:
        try:
            made: Any = _decode_untyped(type_, raw) if issubclass(type_, Untyped) else _decoder(kind).decode(raw)
        except msgspec.DecodeError as error:
            made = _decode_again(type_, raw, error)
    except UnicodeDecodeError as error:
        raise DecodeError(type_.__name__, "", f"not UTF-8 ({error.reason})") from None
    except RecursionError:
        raise DecodeError(type_.__name__, "", "nested too deeply") from None
    if isinstance(made, Object):
        name_kind(made)
        made.metadata.remember(Origin(type_, raw))
    found: T = made  # a `cast` would be a call, for each object that is read
    return found


def encode(value: object) -> bytes:
    """The JSON of an object, or of any part of one."""
    if isinstance(value, Untyped):
        return _encoder.encode(to_dict(value))
    return _encoder.encode(value)


def to_dict(value: object) -> Any:
    """The same as plain dicts and lists, by the names on the wire."""
    if isinstance(value, Untyped):
        head = {"apiVersion": value.api_version, "kind": value.kind, "metadata": to_dict(value.metadata)}
        return head | msgspec.json.decode(_encoder.encode(value.content))
    return msgspec.json.decode(_encoder.encode(value))


def from_dict(type_: type[T], content: Any) -> T:
    """The object in these plain dicts and lists, by the names on the wire. It does not count as read from a server."""
    made = decode(type_, _encoder.encode(content))
    if isinstance(made, Object):
        made.metadata.remember(None)
    return made


def _decode_untyped(type_: type[Untyped], raw: bytes) -> Untyped:
    try:
        content = msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise _explain(type_, raw, error) from None
    metadata = content.pop("metadata", None) or {}
    try:
        # Through bytes rather than `convert`: the managed fields stay undecoded that way.
        meta = _decoder(ObjectMeta).decode(_encoder.encode(metadata))
    except msgspec.DecodeError as error:
        try:
            meta = msgspec.convert(repair(ObjectMeta, metadata), ObjectMeta, dec_hook=dec_hook)
        except msgspec.ValidationError:
            raise _explain(type_, raw, error, prefix="metadata") from None
    return type_(
        api_version=content.pop("apiVersion", ""), kind=content.pop("kind", ""), metadata=meta, content=content
    )


def _decode_again(type_: Any, raw: bytes, error: msgspec.DecodeError) -> Any:
    try:
        content = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        raise _explain(type_, raw, error) from None
    try:
        return _decoder(type_).decode(_encoder.encode(repair(type_, content)))
    except msgspec.DecodeError as second:
        raise _explain(type_, raw, second) from None


def _explain(type_: type, raw: bytes, error: msgspec.DecodeError, prefix: str = "") -> DecodeError:
    # The last one: a value that stands in the reason may look like the path.
    reason, where_from, at = str(error).rpartition(" - at `")
    reason, at = (reason, at) if where_from else (at, "")
    path = at.rstrip("`").removeprefix("$").removeprefix(".")
    reason = reason.replace("Object missing required field", "missing required field")
    where = ".".join(part for part in (prefix, path) if part)
    if reason[1:2].islower():
        reason = reason[0].lower() + reason[1:]
    return DecodeError(_name(type_, raw), where, reason)


def _name(type_: type, raw: bytes) -> str:
    """`Foo default/my-foo`, as well as it can be told."""
    try:
        content = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return type_.__name__
    metadata = content.get("metadata") if isinstance(content, dict) else None
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return type_.__name__
    name, namespace = metadata["name"], metadata.get("namespace")
    return f"{type_.__name__} {namespace}/{name}" if namespace else f"{type_.__name__} {name}"
