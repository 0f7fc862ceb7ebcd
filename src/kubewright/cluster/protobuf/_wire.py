"""The wire format: bytes to numbered fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

__all__ = ["FIXED32", "FIXED64", "LENGTH", "VARINT", "ProtobufError", "WireValue", "fields", "signed", "varints"]

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
FIXED32: Final = 5

WireValue: TypeAlias = int | bytes
"""A number for `VARINT`, bytes for the other wire types."""


class ProtobufError(ValueError):
    """Bytes that are not the protobuf form of a known kind."""


def fields(body: bytes) -> Iterator[tuple[int, int, WireValue]]:
    """Yields number, wire type and value of each field, in order."""
    at, end = 0, len(body)
    value: WireValue
    while at < end:
        key, at = _varint(body, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = _varint(body, at)
        else:
            if wire == LENGTH:
                size, at = _varint(body, at)
            elif wire == FIXED64:
                size = 8
            elif wire == FIXED32:
                size = 4
            else:
                raise ProtobufError(f"wire type {wire} of field {number} is not in use")
            if at + size > end:
                raise ProtobufError(f"field {number} is cut off")
            value = body[at : at + size]
            at += size
        yield number, wire, value


def varints(body: bytes) -> Iterator[int]:
    """Yields the numbers of a packed list."""
    at = 0
    while at < len(body):
        value, at = _varint(body, at)
        yield value


def signed(value: int) -> int:
    """Returns a 64-bit number as signed."""
    return value - (1 << 64) if value >> 63 else value


def _varint(body: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    for index in range(at, min(at + 10, len(body))):
        byte = body[index]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, index + 1
        shift += 7
    raise ProtobufError("a number is cut off")
