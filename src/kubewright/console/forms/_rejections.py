"""What a server says when it refuses a write, at the fields that it speaks of."""

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
    """A refused write: what to tell on top, and what at which field."""

    title: str
    problems: list[Problem]


def explain_rejection(error: Exception, form: Field, value: dict[str, Any]) -> Rejection:
    """The server's words, each at its field where it names one that the form has."""
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
        return f"This is not an object: {error}"
    if not isinstance(error, ApiError):
        return f"That did not work: {error}"
    message = error.status.message or error.reason or f"HTTP status {error.code}"
    for pattern, who in ((_WEBHOOK, "The admission webhook"), (_POLICY, "The policy")):
        if found := pattern.search(message):
            return f"{who} {found['who']} refuses this: {found['why'].strip()}"
    match error:
        case Invalid():
            return "The server refuses this object." if said else f"The server refuses this object: {message}"
        case BadRequest():
            return "The server does not understand this object." if said else message
        case AlreadyExists():
            return "There is an object of this name already. Choose another name, or edit the one that is there."
        case Conflict():
            return f"The object was changed meanwhile: {message}"
        case Forbidden():
            what = f" ({error.verb} {error.resource})" if error.verb else ""
            return f"You may not do this{what}: {message}"
        case Unauthorized():
            return "The server does not know you any more: sign in again."
        case NotFound():
            return f"The server does not find it: {message}"
        case _:
            return f"The server did not answer as hoped: {message}"
