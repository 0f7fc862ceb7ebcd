"""Reads untrusted JSON: values of a wrong type count as absent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from kubewright.api.wire import UNREADABLE

__all__ = ["as_int", "as_list", "as_map", "as_text", "decode_object", "parse_time"]


def decode_object(raw: bytes) -> dict[str, Any]:
    """Returns the JSON object; an empty one if it cannot be decoded or is not an object."""
    try:
        found = msgspec.json.decode(raw)
    except UNREADABLE:
        return {}
    return found if isinstance(found, dict) else {}


def as_map(value: Any) -> Mapping[str, Any]:
    """Returns the value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Returns the value if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Returns the value if it is a string, otherwise an empty one."""
    return value if isinstance(value, str) else ""


def as_int(value: Any) -> int | None:
    """Returns the value if it is an integer and not a boolean, otherwise None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def parse_time(value: Any) -> datetime | None:
    """Parses a timestamp of an object; None if it is invalid."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
