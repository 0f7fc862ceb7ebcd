"""`explain_rejection`: maps an error response to the fields of a form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from kubewright.api import DecodeError
from kubewright.client import AlreadyExists, ApiError, BadRequest, Conflict, Forbidden, Invalid, NotFound, Unauthorized
from kubewright.console.forms._checks import Problem
from kubewright.console.forms._fields import Field
from kubewright.console.forms._locations import locate

__all__ = ["Rejection", "explain_rejection"]

_UNKNOWN: Final = re.compile(r'unknown field "((?:[^"\\]|\\.)*)"')
_WEBHOOK: Final = re.compile(r'admission webhook "(?P<who>[^"]+)" denied the request:? ?(?P<why>.*)', re.DOTALL)
_POLICY: Final = re.compile(
    r"ValidatingAdmissionPolicy '(?P<who>[^']+)' (?:with binding '[^']+' )?denied request: (?P<why>.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected write: a title, and the problems by field."""

    title: str
    problems: list[Problem]


def explain_rejection(error: Exception, form: Field, value: dict[str, Any]) -> Rejection:
    """Returns the server's messages, each with the form field that it names."""
    problems: list[Problem] = []
    if isinstance(error, ApiError):
        for cause in error.causes:
            named = cause.field.removeprefix("<nil>")
            path, rest = locate(named, form, value)
            message = cause.message or cause.reason
            if rest or (named and not path):
                message = f"{named}: {message}"
            problems.append(Problem(path, message))
        if isinstance(error, BadRequest):
            for name in _UNKNOWN.findall(error.status.message):
                path, _ = locate(name, form, value)
                problems.append(Problem(path, "is not a field of this kind"))
    problems = list(dict.fromkeys(problems))
    return Rejection(_title(error, said=bool(problems)), problems)


def _title(error: Exception, *, said: bool) -> str:
    if isinstance(error, DecodeError):
        return f"This is not a valid object: {error}"
    if not isinstance(error, ApiError):
        return f"The request failed: {error}"
    message = error.status.message or error.reason or f"HTTP status {error.code}"
    for pattern, who in ((_WEBHOOK, "The admission webhook"), (_POLICY, "The policy")):
        if found := pattern.search(message):
            return f"{who} {found['who']} denied this change: {found['why'].strip()}"
    match error:
        case Invalid():
            return "The server rejected this object." if said else f"The server rejected this object: {message}"
        case BadRequest():
            return "The server cannot decode this object." if said else message
        case AlreadyExists():
            return "An object with this name already exists. Choose another name, or edit the existing object."
        case Conflict():
            return f"The object changed in the meantime: {message}"
        case Forbidden():
            what = f" ({error.verb} {error.resource})" if error.verb else ""
            return f"You are not allowed to do this{what}: {message}"
        case Unauthorized():
            return "Your credentials are no longer valid. Sign in again."
        case NotFound():
            return f"The server did not find the object: {message}"
        case _:
            return f"The server returned an error: {message}"
