"""Decodes message fields to JSON, by the layout of Kubernetes' messages."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.api import format_micro_time, format_time
from kubewright.cluster.protobuf._wire import LENGTH, ProtobufError, WireValue, fields, signed, varints

__all__ = ["CONTENT_TYPE", "ProtobufError", "UnknownKind", "decode"]

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"
_META: Final = frozenset(
    {"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "Status", "UpdateOptions"}
)
_MAGIC: Final = b"k8s\x00"
_MAX_DEPTH: Final = 100  # a schema nests three messages per level of an object
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_Scalar: TypeAlias = Callable[[WireValue], Any]
_Reader: TypeAlias = Callable[[bytes, int], Any]
"""Decodes a message at a depth."""


class UnknownKind(ProtobufError):
    """A body of a kind without a known protobuf form."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f"the kind {kind!r} of {api_version!r} has no protobuf form that is known here")
        self.api_version = api_version
        self.kind = kind


class _Facts(msgspec.Struct):
    messages: dict[str, list[tuple[int, str, str]]]
    kinds: dict[str, str]


def decode(body: bytes) -> dict[str, Any]:
    """Decodes the object in an envelope of Kubernetes' protobuf. Raises `ProtobufError`."""
    return _decode(body, 0)


def _decode(body: bytes, depth: int) -> dict[str, Any]:
    if not body.startswith(_MAGIC):
        raise ProtobufError("the body does not begin as Kubernetes' protobuf does")
    envelope: dict[int, WireValue] = {number: value for number, _, value in fields(body[len(_MAGIC) :])}
    if _bytes(envelope.get(3, b"")):
        raise ProtobufError(f"the content encoding {_text(envelope[3])!r} is not supported")
    names = {number: _text(value) for number, _, value in fields(_bytes(envelope.get(1, b"")))}
    api_version, kind = names.get(1, ""), names.get(2, "")
    # Request options are registered in every group version, including those of custom resources.
    message = _facts().kinds.get(f"{api_version} {kind}") or _facts().kinds.get(f"v1 {kind}" if kind in _META else "")
    if message is None:
        raise UnknownKind(api_version, kind)
    content = _message(message)(_bytes(envelope.get(2, b"")), depth)
    return {"apiVersion": api_version, "kind": kind, **content}


@cache
def _facts() -> _Facts:
    packed = Path(__file__).with_name("messages.bin").read_bytes()
    return msgspec.json.decode(zlib.decompress(packed), type=_Facts)


# Messages


class _Message:
    """Decodes the messages of one Go struct. Fields are compiled on first use because schemas are recursive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._fields: dict[int, _Field] | None = None

    def __call__(self, body: bytes, depth: int) -> dict[str, Any]:
        if depth > _MAX_DEPTH:
            raise ProtobufError(f"the object is nested more than {_MAX_DEPTH} messages deep")
        known = self._fields
        if known is None:
            known = self._fields = {
                number: _Field(name, type_) for number, name, type_ in _facts().messages[self._name]
            }
        result: dict[str, Any] = {}
        for number, wire, value in fields(body):
            if (field := known.get(number)) is not None:
                field.put(result, wire, value, depth + 1)
        return result


@cache
def _message(name: str) -> _Message:
    return _Message(name)


class _Field:
    """Adds the values of one field to the object."""

    __slots__ = ("_list", "_map", "_name", "_read", "_scalar")

    def __init__(self, name: str, type_: str) -> None:
        self._name = name
        self._list = type_.startswith("[]")
        self._map = type_.startswith("map:")
        element = type_.removeprefix("[]").removeprefix("map:")
        self._scalar = _SCALARS.get(element)
        self._read: _Reader = _reader(element) if self._scalar is None else _no_message

    def put(self, into: dict[str, Any], wire: int, value: WireValue, depth: int) -> None:
        if self._map:
            into.setdefault(self._name, {}).update([self._entry(_bytes(value), depth)])
        elif self._list:
            into.setdefault(self._name, []).extend(self._elements(wire, value, depth))
        elif self._scalar is not None:
            into[self._name] = self._scalar(value)
        elif self._name:
            into[self._name] = self._read(_bytes(value), depth)
        else:  # JSON inlines the fields of this message
            into.update(self._read(_bytes(value), depth))

    def _elements(self, wire: int, value: WireValue, depth: int) -> list[Any]:
        if self._scalar is None:
            return [self._read(_bytes(value), depth)]
        if wire == LENGTH and self._scalar in (_integer, _boolean):
            return [self._scalar(number) for number in varints(_bytes(value))]
        return [self._scalar(value)]

    def _entry(self, body: bytes, depth: int) -> tuple[str, Any]:
        entry = {number: value for number, _, value in fields(body)}
        key = _text(entry.get(1, b""))
        if self._scalar is None:
            return key, self._read(_bytes(entry.get(2, b"")), depth)
        return key, self._scalar(entry.get(2, 0 if self._scalar in (_integer, _boolean) else b""))


# Values


def _bytes(value: WireValue) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a number stands where a message or a text should")
    return value


def _text(value: WireValue) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        raise ProtobufError("a text is not UTF-8") from None


def _integer(value: WireValue) -> int:
    if not isinstance(value, int):
        raise ProtobufError("a text stands where a number should")
    return signed(value)


def _boolean(value: WireValue) -> bool:
    return _integer(value) != 0


def _double(value: WireValue) -> float:
    body = _bytes(value)
    if len(body) != 8:
        raise ProtobufError("a floating point number has not eight bytes")
    number: float = struct.unpack("<d", body)[0]
    return number


def _base64(value: WireValue) -> str:
    return base64.b64encode(_bytes(value)).decode()


_SCALARS: Final[dict[str, _Scalar]] = {
    "string": _text,
    "bytes": _base64,
    "bool": _boolean,
    "int32": _integer,
    "int64": _integer,
    "float64": _double,
}


# Messages with a special JSON form


def _no_message(body: bytes, depth: int) -> Any:
    raise ProtobufError("a message stands where a number or a text should")


def _moment(body: bytes) -> datetime | None:
    """Returns the time, or None for Go's zero time, which is encoded as an empty message."""
    parts = {number: _integer(value) for number, _, value in fields(body)}
    try:
        return _EPOCH + timedelta(seconds=parts.get(1, 0), microseconds=parts.get(2, 0) // 1000) if parts else None
    except OverflowError:
        raise ProtobufError("a time is out of range") from None


def _time(body: bytes, depth: int) -> str | None:
    moment = _moment(body)
    return None if moment is None else format_time(moment)


def _micro_time(body: bytes, depth: int) -> str | None:
    moment = _moment(body)
    return None if moment is None else format_micro_time(moment)


def _quantity(body: bytes, depth: int) -> str:
    return next((_text(value) for number, _, value in fields(body) if number == 1), "0")


def _int_or_string(body: bytes, depth: int) -> int | str:
    parts = {number: value for number, _, value in fields(body)}
    return _text(parts.get(3, b"")) if _integer(parts.get(1, 0)) == 1 else _integer(parts.get(2, 0))


def _raw(body: bytes, depth: int) -> Any:
    content = next((_bytes(value) for number, _, value in fields(body) if number == 1), b"")
    if content.startswith(_MAGIC):
        return _decode(content, depth + 1)
    try:
        return msgspec.json.decode(content) if content else None
    except msgspec.DecodeError as error:
        raise ProtobufError(f"JSON inside the object cannot be read: {error}") from None


_FORMS: Final[dict[str, _Reader]] = {
    "time": _time,
    "microTime": _micro_time,
    "quantity": _quantity,
    "intOrString": _int_or_string,
    "raw": _raw,
}


def _reader(type_: str) -> _Reader:
    """Returns the decoder of a message type."""
    form, _, inner = type_.partition(":")
    if form == "items":
        return _items(inner)
    if form in ("schemaOrBool", "schemaOrArray", "schemaOrStrings"):
        return _schema_or(form, _message(inner))
    return _FORMS.get(type_) or _message(type_)


def _items(element: str) -> _Reader:
    """Returns the decoder of a list that is a message with one field."""
    field = _Field("items", f"[]{element}")

    def read(body: bytes, depth: int) -> list[Any]:
        result: dict[str, Any] = {"items": []}
        for number, wire, value in fields(body):
            if number == 1:
                field.put(result, wire, value, depth)
        items: list[Any] = result["items"]
        return items

    return read


def _schema_or(form: str, schema: _Message) -> _Reader:
    """Returns the decoder of schema fields that hold a schema or a simpler value in JSON."""

    def read(body: bytes, depth: int) -> Any:
        schemas, others = [], []
        for number, _, value in fields(body):
            # A bool precedes the schema; the other values follow it.
            if number == (2 if form == "schemaOrBool" else 1):
                schemas.append(schema(_bytes(value), depth + 1))
            elif number in (1, 2):
                others.append(value)
        if form == "schemaOrBool":
            return schemas[-1] if schemas else bool(others) and _boolean(others[-1])
        if others:
            return [_text(other) if form == "schemaOrStrings" else schema(_bytes(other), depth + 1) for other in others]
        return schemas[-1] if schemas else None

    return read
