"""`format_value` and `parse_value`: values as strings in a widget. They round-trip."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kubewright.console.forms._fields import Field

__all__ = ["format_value", "parse_value"]

_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,400})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")


def format_value(field: Field, value: Any) -> str:
    """Returns the string that a widget shows for a value."""
    if isinstance(value, str) and (
        field.shape == "text" or (field.shape == "int-or-string" and not _needs_quotes(value))
    ):
        return value
    if isinstance(value, str) and field.shape in ("integer", "number"):
        return msgspec.json.encode(value).decode() if _reads_as_number(value) else value
    return msgspec.json.encode(value).decode()


def parse_value(field: Field, text: str) -> Any:
    """Returns the value of a string. If it is not a number, the string is returned and the checker reports it."""
    if field.shape == "text":
        return text
    stripped = text.strip()
    if _WHOLE.fullmatch(stripped):
        return int(stripped)
    if field.shape in ("integer", "number") and _NUMBER.fullmatch(stripped):
        number = float(stripped)
        return int(number) if number.is_integer() and field.shape == "integer" and abs(number) < 2**53 else number
    if stripped.startswith('"'):
        try:
            return msgspec.json.decode(stripped, type=str)
        except msgspec.DecodeError:
            return text
    return text


def _needs_quotes(text: str) -> bool:
    """Whether the string would be parsed as another type, so that it must be shown in quotes."""
    return _reads_as_number(text) or text.strip().startswith('"') or text != text.strip()


def _reads_as_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text.strip())) or text.strip().startswith('"')
