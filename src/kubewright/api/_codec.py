"""Decodes and encodes objects, with errors that name the object and the field.

`decode` is one call into msgspec. If it fails, the object is repaired once: built-in kinds get Go's zero values where
the server sent null or nothing for a required field, such as the `rules` of an empty ClusterRole. An object that still
does not fit its model raises `DecodeError`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from kubewright.api._encodable import not_encodable, path_of_foreign
from kubewright.api._mismatches import find_mismatch
from kubewright.api._model import Model
from kubewright.api._object import Object, name_kind
from kubewright.api._object_meta import ObjectMeta, Origin
from kubewright.api._repair import repair
from kubewright.api._untyped import Untyped
from kubewright.api._values import dec_hook, enc_hook
from kubewright.redaction import one_line

__all__ = ["DecodeError", "decode", "encode", "from_dict", "to_dict"]

T = TypeVar("T")

_NOT_JSON: Final = "not JSON, or truncated"
_encoder = msgspec.json.Encoder(enc_hook=enc_hook)


class DecodeError(ValueError):
    """An object does not fit its model. `object_name` and `path` say where, `reason` says what is expected.

    The message does not contain the value, which may be a secret: it reaches logs and events.
    """

    def __init__(self, object_name: str, path: str, reason: str) -> None:
        super().__init__(one_line(": ".join(part for part in (object_name, path, reason) if part)))
        self.object_name = object_name
        self.path = path
        self.reason = reason


@cache
def _decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_, dec_hook=dec_hook)


def decode(type_: type[T], raw: bytes) -> T:
    """Returns the object in these bytes. It keeps the bytes, so that a later `update` sends only the changes.

    Raises `DecodeError` for bytes that do not fit the type.
    """
    kind: Any = type_
    try:
        try:
            made: Any = _decode_untyped(type_, raw) if issubclass(type_, Untyped) else _decoder(kind).decode(raw)
        except msgspec.DecodeError:
            made = _decode_again(type_, raw)
    except UnicodeDecodeError as error:
        raise DecodeError(type_.__name__, "", f"not UTF-8 ({error.reason})") from None
    except RecursionError:
        raise DecodeError(type_.__name__, "", "nested too deeply") from None
    except NotImplementedError:
        _refuse_foreign_fields(type_)
        raise
    if isinstance(made, Object):
        name_kind(made)
        made.metadata.remember(Origin(type_, raw))
    found: T = made  # without `cast`, which would be one call per object
    return found


def encode(value: object) -> bytes:
    """Returns the JSON of an object, or of any part of one.

    Raises ValueError for a datetime without a time zone and for a float that is NaN or infinite, and TypeError for a
    value of a type that JSON cannot hold. Both name the object and the field.
    """
    _refuse_not_encodable(value)
    return _encoded(value)


def to_dict(value: object) -> Any:
    """Returns an object as plain dicts and lists, with JSON names. Raises as `encode` does."""
    _refuse_not_encodable(value)
    return msgspec.json.decode(_encoded(value))


def from_dict(type_: type[T], content: Any) -> T:
    """Returns the object in plain dicts and lists with JSON names. It does not count as read from a server.

    Raises `DecodeError` for content that does not fit the type, and for values that `encode` rejects.
    """
    if refused := not_encodable(content):
        raise DecodeError(type_.__name__, refused[0].path, refused[0].message)
    made = decode(type_, _encoder.encode(content))
    if isinstance(made, Object):
        made.metadata.remember(None)
    return made


def _encoded(value: object) -> bytes:
    try:
        return _encoder.encode(_top_level(value) if isinstance(value, Untyped) else value)
    except NotImplementedError as error:
        path = path_of_foreign(value if not isinstance(value, Untyped) else _top_level(value), _encoder.encode)
        where = ": ".join(part for part in (str(value) if isinstance(value, Object) else "", path) if part)
        raise TypeError(f"{where}: {error}" if where else str(error)) from None


def _refuse_foreign_fields(type_: type) -> None:
    """Raises TypeError, which names the field, for a model that no JSON can be decoded into."""
    from kubewright.api.schema._structural import check_kind  # only after decoding has failed

    if issubclass(type_, Model):
        check_kind(type_)


def _top_level(value: Untyped) -> dict[str, Any]:
    return {"apiVersion": value.api_version, "kind": value.kind, "metadata": value.metadata, **value.content}


def _refuse_not_encodable(value: object) -> None:
    if not (refused := not_encodable(_top_level(value) if isinstance(value, Untyped) else value)):
        return
    name = f"{value}: " if isinstance(value, Object) else ""
    raise ValueError(f"{name}{refused[0]}")


def _decode_untyped(type_: type[Untyped], raw: bytes) -> Untyped:
    try:
        content = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        raise DecodeError(type_.__name__, "", _NOT_JSON) from None
    if not isinstance(content, dict):
        raise DecodeError(type_.__name__, "", find_mismatch(dict[str, Any], content)[1])
    metadata = content.pop("metadata", None) or {}
    try:
        # Decoding bytes, unlike `convert`, leaves the managed fields undecoded.
        meta = _decoder(ObjectMeta).decode(_encoder.encode(metadata))
    except msgspec.DecodeError:
        repaired = repair(ObjectMeta, metadata)
        try:
            meta = msgspec.convert(repaired, ObjectMeta, dec_hook=dec_hook)
        except msgspec.ValidationError:
            path, reason = find_mismatch(ObjectMeta, repaired)
            where = f"metadata.{path}" if path else "metadata"
            raise DecodeError(_name(type_, {"metadata": metadata}), where, reason) from None
    return type_(
        api_version=content.pop("apiVersion", ""), kind=content.pop("kind", ""), metadata=meta, content=content
    )


def _decode_again(type_: Any, raw: bytes) -> Any:
    try:
        content = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        raise DecodeError(type_.__name__, "", _NOT_JSON) from None
    repaired = repair(type_, content)
    try:
        return _decoder(type_).decode(_encoder.encode(repaired))
    except msgspec.DecodeError:
        raise DecodeError(_name(type_, content), *find_mismatch(type_, repaired)) from None


def _name(type_: type, content: Any) -> str:
    """Returns `Foo default/my-foo`, or less if the content has no name."""
    metadata = content.get("metadata") if isinstance(content, dict) else None
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return type_.__name__
    name, namespace = metadata["name"], metadata.get("namespace")
    return f"{type_.__name__} {namespace}/{name}" if namespace else f"{type_.__name__} {name}"
