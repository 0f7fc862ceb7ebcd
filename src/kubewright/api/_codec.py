"""Bytes to objects and back, with errors that name the object and the field.

`decode` is one call into msgspec. Only when that fails is the object looked at again: built-in kinds get Go's zero
values where the server sent null or nothing for a required field (it does: the `rules` of an empty ClusterRole), and an
object that still does not fit its model raises `DecodeError`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from kubewright.api._encodable import not_encodable, path_of_foreign
from kubewright.api._misfits import misfit_of
from kubewright.api._model import Model
from kubewright.api._object import Object, name_kind
from kubewright.api._object_meta import ObjectMeta, Origin
from kubewright.api._repair import repair
from kubewright.api._untyped import Untyped
from kubewright.api._values import dec_hook, enc_hook
from kubewright.redaction import one_line

__all__ = ["DecodeError", "decode", "encode", "from_dict", "to_dict"]

T = TypeVar("T")

_NOT_JSON: Final = "not JSON, or cut off"
_encoder = msgspec.json.Encoder(enc_hook=enc_hook)


class DecodeError(ValueError):
    """What was read does not fit the model. `object_name` and `path` say where, `reason` says what is expected.

    The message lacks the value that does not fit, which may be a secret: logs and events are read by many.
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
    """The object in these bytes. A kind remembers the bytes, so that a later `update` sends only what changed."""
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
    found: T = made  # a `cast` would be a call, for each object that is read
    return found


def encode(value: object) -> bytes:
    """Returns the JSON of an object, or of any part of one.

    Raises ValueError, which names the object and the field, for a datetime without a time zone and for a float that is
    NaN or infinite. Raises TypeError, which does so too, for a value of a type that JSON cannot hold.
    """
    _refuse_not_encodable(value)
    return _encoded(value)


def to_dict(value: object) -> Any:
    """Returns the same as plain dicts and lists, by the names on the wire. Raises ValueError as `encode` does."""
    _refuse_not_encodable(value)
    return msgspec.json.decode(_encoded(value))


def from_dict(type_: type[T], content: Any) -> T:
    """The object in these plain dicts and lists, by the names on the wire. It does not count as read from a server.

    Raises `DecodeError` for content that does not fit the type, and for values that `encode` refuses.
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
        raise DecodeError(type_.__name__, "", misfit_of(dict[str, Any], content)[1])
    metadata = content.pop("metadata", None) or {}
    try:
        # Through bytes rather than `convert`: the managed fields stay undecoded that way.
        meta = _decoder(ObjectMeta).decode(_encoder.encode(metadata))
    except msgspec.DecodeError:
        repaired = repair(ObjectMeta, metadata)
        try:
            meta = msgspec.convert(repaired, ObjectMeta, dec_hook=dec_hook)
        except msgspec.ValidationError:
            path, reason = misfit_of(ObjectMeta, repaired)
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
        raise DecodeError(_name(type_, content), *misfit_of(type_, repaired)) from None


def _name(type_: type, content: Any) -> str:
    """`Foo default/my-foo`, as well as it can be told."""
    metadata = content.get("metadata") if isinstance(content, dict) else None
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return type_.__name__
    name, namespace = metadata["name"], metadata.get("namespace")
    return f"{type_.__name__} {namespace}/{name}" if namespace else f"{type_.__name__} {name}"
