"""What is wrong with a field: the causes of an Invalid answer, in the real server's words.

A `FieldError` is one line of a 422: a reason (`FieldValueInvalid`), the path (`spec.replicas`) and the text that the
real server would write. The functions make them; their names are those of the server's own kinds of error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule: `reason` as in the causes of a Status, the field's path, and what is wrong, without the path."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value breaks a rule, which `detail` states."""
    return FieldError("FieldValueInvalid", field, _with_detail(f"Invalid value: {shown(value)}", detail))


def required(field: str, detail: str = "") -> FieldError:
    """The field must be there."""
    return FieldError("FieldValueRequired", field, _with_detail("Required value", detail))


def forbidden(field: str, detail: str) -> FieldError:
    """The field must not be set, or not be changed."""
    return FieldError("FieldValueForbidden", field, _with_detail("Forbidden", detail))


def duplicate(field: str, value: Any) -> FieldError:
    """The same value stands in the list already."""
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def not_found(field: str, value: Any) -> FieldError:
    """What the value names does not exist."""
    return FieldError("FieldValueNotFound", field, f"Not found: {shown(value)}")


def not_supported(field: str, value: Any, supported: Sequence[str]) -> FieldError:
    """The value is none of those that are allowed."""
    listed = ", ".join(_quoted(text) for text in supported)
    detail = f"supported values: {listed}" if supported else ""
    return FieldError("FieldValueNotSupported", field, _with_detail(f"Unsupported value: {shown(value)}", detail))


def too_long(field: str, longest: int) -> FieldError:
    """The text has more than `longest` bytes."""
    return FieldError("FieldValueTooLong", field, f"Too long: may not be more than {longest} bytes")


def too_many(field: str, count: int, most: int) -> FieldError:
    """The list has more than `most` items."""
    items = "item" if most == 1 else "items"
    return FieldError("FieldValueTooMany", field, f"Too many: {count}: must have at most {most} {items}")


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """The value is of another type than the field."""
    return FieldError("FieldValueTypeInvalid", field, _with_detail(f"Invalid value: {shown(value)}", detail))


def shown(value: Any) -> str:
    """A value as the server's messages show it: texts quoted, numbers and booleans bare, the rest as JSON."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None:
        return "null"
    if isinstance(value, float):
        return go_number(value)
    return msgspec.json.encode(value).decode()


def go_number(value: float) -> str:
    """A number as Go prints it: whole ones without a point, an exponent beyond 21 digits."""
    if float(value).is_integer() and abs(value) < 1e21:
        return str(int(value))
    mantissa, _, exponent = repr(float(value)).partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa}e{exponent[0] if exponent[0] in '+-' else '+'}{exponent.lstrip('+-').zfill(2)}"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _with_detail(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text
