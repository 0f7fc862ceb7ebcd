"""Writers of protobuf fields: functions of a field number and a JSON value. Empty values are not written."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

__all__ = [
    "Message",
    "Writer",
    "any_value",
    "chosen",
    "delimited",
    "each",
    "flag",
    "inside",
    "named",
    "number",
    "object_of",
    "text",
]

Writer: TypeAlias = Callable[[int, Any], bytes]
"""Writes a field: its number and its value."""
Message: TypeAlias = Callable[[Any], bytes]
"""Writes the fields of a message."""

_BYTES: Final = 2
_DOUBLE: Final = 1


def _varint(value: int) -> bytes:
    out = bytearray()
    value &= 0xFFFF_FFFF_FFFF_FFFF
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def delimited(field: int, content: bytes) -> bytes:
    """Writes bytes with their length: a message, or a string."""
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def chosen(field: int, value: bool | float | str) -> bytes:
    """Writes a member of a choice (`oneof`), which is written even if it is empty."""
    if isinstance(value, str):
        return delimited(field, value.encode())
    if isinstance(value, bool):
        return _varint(field << 3) + _varint(value)
    return _varint(field << 3 | _DOUBLE) + struct.pack("<d", value)


def text(field: int, value: str) -> bytes:
    """Writes a string."""
    return delimited(field, value.encode()) if value else b""


def flag(field: int, value: int) -> bytes:
    """Writes a boolean or an integer."""
    return _varint(field << 3) + _varint(int(value)) if value else b""


def number(field: int, value: float) -> bytes:
    """Writes a double."""
    return _varint(field << 3 | _DOUBLE) + struct.pack("<d", value) if value else b""


def any_value(field: int, value: Any) -> bytes:
    """Writes any value, as YAML in the second field of a message."""
    return delimited(field, text(2, msgspec.json.encode(value).decode() + "\n"))


def inside(message: Message) -> Writer:
    """Returns a writer of a message."""
    return lambda field, value: delimited(field, message(value))


def each(writer: Writer) -> Writer:
    """Returns a writer of a repeated field."""
    return lambda field, values: b"".join(writer(field, value) for value in values)


def named(message: Message) -> Writer:
    """Returns a writer of a map: a repeated message of a name and a value."""
    return lambda field, values: b"".join(
        delimited(field, text(1, name) + delimited(2, message(value))) for name, value in values.items()
    )


def object_of(fields: Mapping[str, tuple[int, Writer]], extensions: int) -> Message:
    """Returns the message of a JSON object: its fields by name, and the number of the field of extensions (`x-`)."""
    any_of = named(lambda value: text(2, msgspec.json.encode(value).decode() + "\n"))

    def write(value: Mapping[str, Any]) -> bytes:
        parts = []
        for name, found in value.items():
            if name in fields:
                field, writer = fields[name]
                parts.append(writer(field, found))
            elif name.startswith("x-"):
                parts.append(any_of(extensions, {name: found}))
        return b"".join(parts)

    return write
