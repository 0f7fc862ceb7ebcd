"""The results of handlers: rejections, with the fields and reasons, and warnings.

Field errors read like those of Kubernetes, and `kubectl` prints them in the same way, one line per field. In

    spec.replicas: Invalid value: 11: must be 10 or less

the path, the value and the detail are the handler's. `FieldError(path, message)` does not show the value.
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
    """An invalid field. `path` has the form of the API server: `spec.ports[0].name`.

    `FieldError.invalid` and the other constructors use the wording of Kubernetes.
    """

    path: str
    message: str
    reason: str = "FieldValueInvalid"
    """The machine-readable reason."""

    @classmethod
    def invalid(cls, path: str, value: object, detail: str) -> FieldError:
        """The value is invalid."""
        return cls(path, f"Invalid value: {_shown(value)}: {detail}")

    @classmethod
    def required(cls, path: str, detail: str = "") -> FieldError:
        """The field is required."""
        return cls(path, _with_detail("Required value", detail), "FieldValueRequired")

    @classmethod
    def forbidden(cls, path: str, detail: str) -> FieldError:
        """The field must not be set or changed."""
        return cls(path, f"Forbidden: {detail}", "FieldValueForbidden")

    @classmethod
    def unsupported(cls, path: str, value: object, supported: Sequence[object]) -> FieldError:
        """The value is not one of the supported values."""
        if isinstance(supported, str):
            raise TypeError(f"FieldError.unsupported takes a list of the supported values, [{supported!r}]")
        known = ", ".join(_shown(one) for one in supported)
        return cls(path, f"Unsupported value: {_shown(value)}: supported values: {known}", "FieldValueNotSupported")

    @classmethod
    def duplicate(cls, path: str, value: object) -> FieldError:
        """The value occurs twice."""
        return cls(path, f"Duplicate value: {_shown(value)}", "FieldValueDuplicate")

    @classmethod
    def not_found(cls, path: str, value: object) -> FieldError:
        """The value names an object that does not exist."""
        return cls(path, f"Not found: {_shown(value)}", "FieldValueNotFound")

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class AdmissionWarning(msgspec.Struct, frozen=True):
    """A warning for the client, which `kubectl` prints. It does not reject the request."""

    message: str


class Refused(Exception):
    """Rejects the request: `raise Refused("not on Fridays")`, or with several field errors.

    Args:
        errors: the reasons: strings or `FieldError`s.
        code: the HTTP status of the response. Default: 422 with field errors, 403 without.
    """

    def __init__(self, *errors: FieldError | str, code: int | None = None) -> None:
        if not errors:
            raise TypeError('Refused needs a reason: Refused("not on Fridays")')
        if code is not None and not isinstance(code, int):
            raise TypeError(f"code of Refused must be a number from 400 to 599, not {code!r}")
        if code is not None and not 400 <= code < 600:
            raise ValueError(f"code of Refused must be from 400 to 599, not {code}")
        super().__init__(*errors)
        self.errors = errors
        fields = any(isinstance(error, FieldError) for error in errors)
        self.code = code or (_INVALID if fields else _FORBIDDEN)

    def __str__(self) -> str:
        return "; ".join(map(str, self.errors))

    @classmethod
    def of(cls, error: ValidationError) -> Refused:
        """Returns the rejection of an object that violates the schema of its kind."""
        return cls(*(FieldError(found.path, found.message) for found in error.violations))


class Verdict(msgspec.Struct, frozen=True):
    """The errors and warnings of a handler."""

    errors: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()


def status_of(refused: Refused, *, group: str, kind: str, name: str) -> dict[str, Any]:
    """Returns the meta/v1 Status of a rejection, with the wording of the API server."""
    code = refused.code
    status: dict[str, Any] = {"status": "Failure", "code": code, "reason": _REASONS.get(code, "Unknown")}
    fields = [error for error in refused.errors if isinstance(error, FieldError)]
    messages = [as_text(error) for error in refused.errors]
    if code != _INVALID:
        return status | {"message": "; ".join(messages)}
    listed = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
    shown = f"{kind}.{group}" if group else kind
    causes = [_cause(error) for error in fields]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    return status | {"message": f"{shown} {_quoted(name)} is invalid: {listed}", "details": details}


def _cause(error: FieldError) -> dict[str, str]:
    return {"reason": as_text(error.reason), "message": as_text(error.message), "field": as_text(error.path)}


def _with_detail(what: str, detail: str) -> str:
    return f"{what}: {detail}" if detail else what


def _shown(value: object) -> str:
    """Returns a value as truncated JSON, or as its string if it cannot be encoded."""
    try:
        text = encode(value).decode()
    except Exception:
        text = _quoted(as_text(value))
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
