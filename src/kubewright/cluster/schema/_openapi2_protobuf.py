"""The OpenAPI v2 document as protobuf, in the messages of gnostic's OpenAPIv2.proto, for client-go.

Only the fields that `openapi_v2` and schemas of custom resources use are encoded, by their field numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import msgspec

__all__ = ["openapi_v2_protobuf"]

_Writer: TypeAlias = Callable[[Any], bytes]

_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_SCHEMA_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_SCHEMA_NUMBERS: Final = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_SCHEMA_COUNTS: Final = {
    "exclusiveMaximum": 8,
    "exclusiveMinimum": 10,
    "maxLength": 11,
    "minLength": 12,
    "maxItems": 14,
    "minItems": 15,
    "uniqueItems": 16,
    "maxProperties": 17,
    "minProperties": 18,
}


def openapi_v2_protobuf(document: dict[str, Any]) -> bytes:
    """Encodes a document of `openapi_v2`."""
    info = document["info"]
    return b"".join(
        (
            _text(1, document["swagger"]),
            _message(2, _text(1, info["title"]) + _text(2, info["version"])),
            _message(8, _named(2, document["paths"], _path)),
            _message(9, _named(1, document["definitions"], _schema)),
        )
    )


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode()) if text else b""


def _strings(field: int, strings: Iterable[str]) -> bytes:
    return b"".join(_message(field, text.encode()) for text in strings)


def _count(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(int(value)) if value else b""


def _named(field: int, members: dict[str, Any], writer: _Writer) -> bytes:
    """Encodes a repeated message of name and value for each member."""
    return b"".join(_message(field, _text(1, name) + _message(2, writer(value))) for name, value in members.items())


def _any(value: Any) -> bytes:
    return _text(2, msgspec.json.encode(value).decode() + "\n")


def _extensions(field: int, source: dict[str, Any]) -> bytes:
    return _named(field, {name: value for name, value in source.items() if name.startswith("x-")}, _any)


def _path(item: dict[str, Any]) -> bytes:
    methods = (_message(number, _operation(item[name])) for name, number in _METHODS.items() if name in item)
    return b"".join(methods) + b"".join(_message(9, _parameter(each)) for each in item.get("parameters", ()))


def _operation(operation: dict[str, Any]) -> bytes:
    return b"".join(
        (
            _strings(6, operation["produces"]),
            _strings(7, operation["consumes"]),
            *(_message(8, _parameter(each)) for each in operation["parameters"]),
            _message(9, _named(1, operation["responses"], _response)),
            _extensions(13, operation),
        )
    )


def _response(response: dict[str, Any]) -> bytes:
    content = _text(1, response["description"])
    if "schema" in response:
        content += _message(2, _message(1, _schema(response["schema"])))
    return _message(1, content)


def _parameter(parameter: dict[str, Any]) -> bytes:
    """Encodes ParametersItem → Parameter → the message of its location."""
    location, name, required = parameter["in"], parameter["name"], parameter.get("required", False)
    if location == "body":
        body = _text(2, name) + _text(3, location) + _count(4, required) + _message(5, _schema(parameter["schema"]))
        return _message(1, _message(1, body))
    common = _count(1, required) + _text(2, location) + _text(4, name)
    if location == "query":
        inner = _message(3, common + _text(6, parameter["type"]) + _count(20, True))
    else:
        inner = _message(4, common + _text(5, parameter["type"]) + _count(19, True))
    return _message(1, _message(2, inner))


def _schema(schema: dict[str, Any]) -> bytes:
    out = [_text(number, schema[name]) for name, number in _SCHEMA_TEXTS.items() if name in schema]
    for name, number in _SCHEMA_NUMBERS.items():
        if name in schema:
            out.append(_varint(number << 3 | 1) + struct.pack("<d", schema[name]))
    out += [_count(number, schema[name]) for name, number in _SCHEMA_COUNTS.items() if name in schema]
    if "default" in schema:
        out.append(_message(5, _any(schema["default"])))
    out.append(_strings(19, schema.get("required", ())))
    out += [_message(20, _any(value)) for value in schema.get("enum", ())]
    others = schema.get("additionalProperties")
    if others is not None:
        out.append(_message(21, _message(1, _schema(others)) if isinstance(others, dict) else _count(2, others)))
    if "type" in schema:
        out.append(_message(22, _text(1, schema["type"])))
    if isinstance(schema.get("items"), dict):
        out.append(_message(23, _message(1, _schema(schema["items"]))))
    if "properties" in schema:
        out.append(_message(25, _named(1, schema["properties"], _schema)))
    out.append(_extensions(31, schema))
    return b"".join(out)
