"""Compares protobuf messages without their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

__all__ = ["differences", "fields_of", "merged"]

_VARINT, _DOUBLE, _BYTES, _FIXED = 0, 1, 2, 5


class NotAMessage(Exception):
    """The bytes are a string, or nothing that is known."""


def fields_of(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yields the fields of a message: numbers, and bytes for everything else. Raises `NotAMessage`."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while at < len(message):
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise NotAMessage

    while at < len(message):
        tag = varint()
        match tag & 7:
            case 0:
                yield tag >> 3, varint()
            case 1 | 5 as kind:
                size = 8 if kind == _DOUBLE else 4
                at += size
                yield tag >> 3, message[at - size : at]
            case 2:
                size = varint()
                at += size
                if at > len(message):
                    raise NotAMessage
                yield tag >> 3, message[at - size : at]
            case _:
                raise NotAMessage


def merged(message: bytes, *singular: int) -> list[tuple[int, Any]]:
    """Returns the fields of a message in order of their numbers. Parts of `singular` messages are put together."""
    found: list[tuple[int, Any]] = []
    parts: dict[int, bytes] = {}
    for number, value in fields_of(message):
        if number in singular:
            parts[number] = parts.get(number, b"") + value
        else:
            found.append((number, value))
    return sorted([*found, *parts.items()], key=lambda field: field[0])


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yields where two values differ. Values of any type are YAML, in whichever style."""
    if ours == theirs:
        return
    if not isinstance(ours, bytes) or not isinstance(theirs, bytes):
        yield f"{path}: {ours!r} != {theirs!r}"
        return
    try:
        mine, other = (sorted(fields_of(each), key=lambda field: field[0]) for each in (ours, theirs))
    except NotAMessage:
        if yaml.safe_load(ours) != yaml.safe_load(theirs):
            yield f"{path}: {ours[:200]!r} != {theirs[:200]!r}"
        return
    if [number for number, _ in mine] != [number for number, _ in other]:
        yield f"{path}: the fields {[number for number, _ in mine]} != {[number for number, _ in other]}"
        return
    for (number, value), (_, expected) in zip(mine, other, strict=True):
        yield from differences(value, expected, f"{path}/{number}")
