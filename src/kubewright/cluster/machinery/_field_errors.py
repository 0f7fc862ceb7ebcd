"""Field errors: the causes of an Invalid response, with the messages of kube-apiserver.

A `FieldError` is one cause of a 422: a reason (`FieldValueInvalid`), the path (`spec.replicas`) and the message. The
functions of this module are named after the server's error types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

__all__ = [
    "FieldError",
    "duplicate",
    "forbidden",
    "go_number",
    "invalid",
    "not_found",
    "not_supported",
    "required",
    "too_long",
    "too_many",
    "type_invalid",
]

_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FieldError:
    """A validation error: the reason as in the causes of a Status, the path, and the message without the path."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value is invalid; `detail` says why."""
    return FieldError("FieldValueInvalid", field, _with_detail(f"Invalid value: {shown(value)}", detail))


def required(field: str, detail: str = "") -> FieldError:
    """The field is required."""
    return FieldError("FieldValueRequired", field, _with_detail("Required value", detail))


def forbidden(field: str, detail: str) -> FieldError:
    """The field must not be set, or must not change."""
    return FieldError("FieldValueForbidden", field, _with_detail("Forbidden", detail))


def duplicate(field: str, value: Any) -> FieldError:
    """The list contains the value already."""
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def not_found(field: str, value: Any) -> FieldError:
    """The object that the value names does not exist."""
    return FieldError("FieldValueNotFound", field, f"Not found: {shown(value)}")


def not_supported(field: str, value: Any, supported: Sequence[str]) -> FieldError:
    """The value is not one of the allowed values."""
    listed = ", ".join(_quoted(text) for text in supported)
    detail = f"supported values: {listed}" if supported else ""
    return FieldError("FieldValueNotSupported", field, _with_detail(f"Unsupported value: {shown(value)}", detail))


def too_long(field: str, longest: int) -> FieldError:
    """The string is longer than `longest` bytes."""
    return FieldError("FieldValueTooLong", field, f"Too long: may not be more than {longest} bytes")


def too_many(field: str, count: int, most: int) -> FieldError:
    """The list has more than `most` items."""
    items = "item" if most == 1 else "items"
    return FieldError("FieldValueTooMany", field, f"Too many: {count}: must have at most {most} {items}")


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value has the wrong type."""
    return FieldError("FieldValueTypeInvalid", field, _with_detail(f"Invalid value: {shown(value)}", detail))


def shown(value: Any) -> str:
    """Returns a value as in the server's messages: strings quoted, numbers and booleans bare, the rest as JSON."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, float):
        return go_number(value)
    return msgspec.json.encode(value).decode()


def go_number(value: float) -> str:
    """Returns a number as Go prints it: integers without a decimal point, an exponent from 1e21."""
    if float(value).is_integer() and abs(value) < 1e21:
        return str(int(value))
    mantissa, _, exponent = repr(float(value)).partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa}e{exponent[0] if exponent[0] in '+-' else '+'}{exponent.lstrip('+-').zfill(2)}"


def _quoted(text: str) -> str:
    """Quotes a string as Go's %q does."""
    if text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _with_detail(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text
