"""Values of one widget as text, and back. What is shown and not touched comes back as it was."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from kubewright.console.forms._fields import Field

__all__ = ["format_value", "parse_value"]

_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,400})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")


def format_value(field: Field, value: Any) -> str:
    """A value as the text in its widget."""
    if isinstance(value, str) and (field.shape == "text" or (field.shape == "int-or-string" and not _is_odd(value))):
        return value
    if isinstance(value, str) and field.shape in ("integer", "number"):
        return msgspec.json.encode(value).decode() if _reads_as_number(value) else value
    return msgspec.json.encode(value).decode()


def parse_value(field: Field, text: str) -> Any:
    """The value that a text means. What is no number stays a text: the check tells what is wrong with it."""
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


def _is_odd(text: str) -> bool:
    """Whether a text would be taken for something else, and so is shown in quotes."""
    return _reads_as_number(text) or text.strip().startswith('"') or text != text.strip()


def _reads_as_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text.strip())) or text.strip().startswith('"')
