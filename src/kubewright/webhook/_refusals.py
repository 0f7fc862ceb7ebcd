"""What a handler may say about an object: that it is refused, why and at which fields; or a warning.

Errors at fields read as Kubernetes' own, and reach `kubectl` as it prints those: one line for each field. In

    spec.replicas: Invalid value: 11: must be 10 or less

the path, the value and the text are the handler's. `FieldError(path, text)` is an invalid value that is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kubewright.api import ValidationError, encode
from kubewright.redaction import as_text

__all__ = ["AdmissionWarning", "FieldError", "Refused", "Verdict", "status_of"]

_FORBIDDEN: Final = 403
_INVALID: Final = 422
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    408: "Timeout",
    409: "Conflict",
    413: "RequestEntityTooLarge",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_LONGEST_VALUE: Final = 256


class FieldError(msgspec.Struct, frozen=True):
    """A field that is not as it must be. `path` names it as the server does: `spec.ports[0].name`.

    `FieldError.invalid` and its relatives word the usual cases as Kubernetes does, with the value where it helps.
    """

    path: str
    message: str
    reason: str = "FieldValueInvalid"
    """In one word, for programs."""

    @classmethod
    def invalid(cls, path: str, value: object, detail: str) -> FieldError:
        """The value cannot be."""
        return cls(path, f"Invalid value: {_shown(value)}: {detail}")

    @classmethod
    def required(cls, path: str, detail: str = "") -> FieldError:
        """There must be a value."""
        return cls(path, _worded("Required value", detail), "FieldValueRequired")

    @classmethod
    def forbidden(cls, path: str, detail: str) -> FieldError:
        """It must not be set, or not be changed."""
        return cls(path, f"Forbidden: {detail}", "FieldValueForbidden")

    @classmethod
    def unsupported(cls, path: str, value: object, supported: Sequence[object]) -> FieldError:
        """It is none of those that there are."""
        if isinstance(supported, str):
            raise TypeError(f"FieldError.unsupported takes a list of the values that there are, [{supported!r}]")
        known = ", ".join(_shown(one) for one in supported)
        return cls(path, f"Unsupported value: {_shown(value)}: supported values: {known}", "FieldValueNotSupported")

    @classmethod
    def duplicate(cls, path: str, value: object) -> FieldError:
        """It is there twice."""
        return cls(path, f"Duplicate value: {_shown(value)}", "FieldValueDuplicate")

    @classmethod
    def not_found(cls, path: str, value: object) -> FieldError:
        """It names something that does not exist."""
        return cls(path, f"Not found: {_shown(value)}", "FieldValueNotFound")

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class AdmissionWarning(msgspec.Struct, frozen=True):
    """A text for whoever asked, which `kubectl` prints; the request goes on."""

    message: str


class Refused(Exception):
    """The request is refused: `raise Refused("not on Fridays")`, or with the errors of several fields.

    Args:
        errors: why: a text, or `FieldError`s.
        code: the HTTP status that the client gets; 422 with fields, 403 without, unless given.
    """

    def __init__(self, *errors: FieldError | str, code: int | None = None) -> None:
        if not errors:
            raise TypeError('Refused says why: Refused("not on Fridays")')
        if code is not None and not isinstance(code, int):
            raise TypeError(f"the code of a refusal is a number from 400 to 599, not {code!r}")
        if code is not None and not 400 <= code < 600:
            raise ValueError(f"the code of a refusal is from 400 to 599, not {code}")
        super().__init__(*errors)
        self.errors = errors
        fields = any(isinstance(error, FieldError) for error in errors)
        self.code = code or (_INVALID if fields else _FORBIDDEN)

    def __str__(self) -> str:
        return "; ".join(map(str, self.errors))

    @classmethod
    def of(cls, error: ValidationError) -> Refused:
        """The same, of an object that breaks rules of its kind."""
        return cls(*(FieldError(found.path, found.message) for found in error.violations))


class Verdict(msgspec.Struct, frozen=True):
    """What handlers found: all of their errors and warnings."""

    errors: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()


def status_of(refused: Refused, *, group: str, kind: str, name: str) -> dict[str, Any]:
    """The meta/v1 Status of a refusal, worded as the server words its own."""
    code = refused.code
    status: dict[str, Any] = {"status": "Failure", "code": code, "reason": _REASONS.get(code, "Unknown")}
    fields = [error for error in refused.errors if isinstance(error, FieldError)]
    texts = [as_text(error) for error in refused.errors]
    if code != _INVALID:
        return status | {"message": "; ".join(texts)}
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    shown = f"{kind}.{group}" if group else kind
    causes = [_cause(error) for error in fields]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    return status | {"message": f"{shown} {_quoted(name)} is invalid: {told}", "details": details}


def _cause(error: FieldError) -> dict[str, str]:
    return {"reason": as_text(error.reason), "message": as_text(error.message), "field": as_text(error.path)}


def _worded(what: str, detail: str) -> str:
    return f"{what}: {detail}" if detail else what


def _shown(value: object) -> str:
    """A value as JSON shows it, at most one line long. One that JSON has no form for is shown as text."""
    try:
        text = encode(value).decode()
    except Exception:
        text = _quoted(as_text(value))
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
