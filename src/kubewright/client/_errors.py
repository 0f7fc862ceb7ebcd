"""Failed requests as exceptions.

Every response that is not a success becomes an `ApiError` with the server's `Status`. Its subclass tells programs how
to react. A missing response is an `ApiError`, too (`Unavailable`, `Timeout`), with a status that is made here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from kubewright.api.wire import UNREADABLE
from kubewright.client._config_errors import ConfigError
from kubewright.client._transport import ConnectionLost, TooLarge
from kubewright.redaction import one_line

__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Cause",
    "ConfigError",
    "Conflict",
    "Expired",
    "Forbidden",
    "Gone",
    "Invalid",
    "NotFound",
    "NotKubernetes",
    "RequestTooLarge",
    "ResponseTooLarge",
    "Status",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "error_from",
    "error_from_loss",
]


class Cause(msgspec.Struct, kw_only=True, frozen=True):
    """One of several causes: a field, and what is wrong with it."""

    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, kw_only=True, rename="camel"):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[Cause] | None = None
    retry_after_seconds: int | None = None


class _ListMeta(msgspec.Struct, kw_only=True):
    continue_: str = msgspec.field(name="continue", default="")


class Status(msgspec.Struct, kw_only=True):
    """The server's description of a failure (meta/v1 Status)."""

    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


class ApiError(Exception):
    """The server did not fulfill the request.

    `str()` is the request and the server's message, on one line and without control characters, so that it is safe to
    log; `status.message` is the message as it was sent.
    """

    def __init__(self, status: Status, request: str = "") -> None:
        super().__init__(status, request)
        self.status = status
        self.request = request
        self.asked_to_retry = False
        """Whether the response had a Retry-After header: then the server has done nothing yet."""

    def __str__(self) -> str:
        message = self.status.message or self.status.reason or f"HTTP status {self.status.code}"
        return one_line(f"{self.request}: {message}" if self.request else message)

    @property
    def code(self) -> int:
        """The HTTP status; 0 if there was no response."""
        return self.status.code

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed later: there was no response, or a state of the server prevented it.

        A server will not support later what it does not support now (501), nor another version of HTTP (505).
        """
        return self.code in (0, 429) or (self.code >= 500 and self.code not in (501, 505))

    @property
    def reason(self) -> str:
        """The server's reason in one word, such as `AlreadyExists`."""
        return self.status.reason

    @property
    def causes(self) -> list[Cause]:
        """The causes that the server listed."""
        return (self.status.details.causes if self.status.details else None) or []

    @property
    def retry_after(self) -> float | None:
        """How many seconds to wait, by the server's Retry-After header."""
        seconds = self.status.details.retry_after_seconds if self.status.details else None
        return float(seconds) if seconds is not None else None


class BadRequest(ApiError):
    """400: the server does not understand the request, or an object to create was read from a server."""


class NotFound(ApiError):
    """404: the object, its namespace, or its kind does not exist."""

    @property
    def missing(self) -> str:
        """The name of the missing object; empty if its kind is missing, or if the server does not say."""
        return self.status.details.name if self.status.details else ""


class AlreadyExists(ApiError):
    """409: an object of that name already exists."""


class Conflict(ApiError):
    """409: the object has changed since it was read, or another manager owns a field that was applied."""


class Invalid(ApiError):
    """422: the object is invalid; `causes` has each field."""


class Forbidden(ApiError):
    """403: this user is not allowed to do that. `verb` and `resource` name the request."""

    verb: str = ""
    resource: str = ""

    @property
    def namespace_is_going(self) -> bool:
        """Whether the namespace is being deleted: no user can create objects in it."""
        return any(cause.reason == "NamespaceTerminating" for cause in self.causes)


class Unauthorized(ApiError):
    """401: the server does not accept the credentials."""

    def __str__(self) -> str:
        return f"{super().__str__()}: the server does not accept the credentials; renew the token or the certificate"


class TooManyRequests(ApiError):
    """429: the server is busy, or an eviction must wait for a disruption budget."""


class Gone(ApiError):
    """410: the requested resource no longer exists."""


class Expired(Gone):
    """410: the resourceVersion or continue token has expired; list again."""


class Timeout(ApiError, TimeoutError):
    """The server or this client timed out. A write may have happened."""


class Unavailable(ApiError, ConnectionError):
    """The server is unreachable, or temporarily unavailable."""


class RequestTooLarge(ApiError):
    """413: the body is larger than the server accepts."""


class ResponseTooLarge(ApiError):
    """The response exceeds a limit of this client, which the message names. A write has happened."""


class NotKubernetes(ApiError):
    """The response is not that of a Kubernetes API server."""


_BY_REASON: dict[str, type[ApiError]] = {
    "BadRequest": BadRequest,
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Invalid": Invalid,
    "Forbidden": Forbidden,
    "Unauthorized": Unauthorized,
    "TooManyRequests": TooManyRequests,
    "Gone": Gone,
    "Expired": Expired,
    "Timeout": Timeout,
    "ServerTimeout": Timeout,
    "ServiceUnavailable": Unavailable,
    "RequestEntityTooLarge": RequestTooLarge,
}
_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: RequestTooLarge,
    422: Invalid,
    429: TooManyRequests,
    503: Unavailable,
    504: Timeout,
}


_BEFORE_QUOTATION = "Invalid value: "
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OBJECT = re.compile(r"[\w.*\[\]&]*[\[{]")  # JSON, or as Go prints it: core.PodTemplateSpec{...}
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]')
_LONGEST_QUOTATION = 200
_LONGEST_DIGITS = 9  # of Retry-After, in seconds


def _without_quotations(text: str, *, hide: bool) -> str:
    """Removes whole objects from the string.

    The server answers a rejected patch with the complete object, which may be a Secret.
    """
    before, *parts = text.split(_BEFORE_QUOTATION)
    return _BEFORE_QUOTATION.join([before, *(_without_quotation(part, hide=hide) for part in parts)])


def _without_quotation(text: str, *, hide: bool) -> str:
    """Shortens a long value at the start of the string.

    A string is cut after some characters, an object is removed.
    """
    if found := _STRING.match(text):
        end, cut = found.end(), f'{text[: _LONGEST_QUOTATION - len(_BEFORE_QUOTATION)]}…"'
    elif _OBJECT.match(text):
        end, cut = _end_of_object(text), "[…]" if text.startswith("[") else "{…}"
    else:
        return text
    if hide:
        cut = "(hidden)"
    elif end + len(_BEFORE_QUOTATION) <= _LONGEST_QUOTATION:
        return text
    return cut + text[end:]


def _end_of_object(text: str) -> int:
    """Returns where the object at the start of the string ends, or the end of the string if the object is cut off."""
    depth = 0
    for found in _BRACKETS.finditer(text):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
            if depth <= 0:
                return found.end()
    return len(text)


def error_from(
    code: int, headers: Mapping[str, str], body: bytes, *, request: str, verb: str = "", resource: str = ""
) -> ApiError:
    """Returns the exception for a response that is not a success."""
    status = _status_in(code, body)
    _shorten(status, hide=resource.startswith("secrets"))
    retry_after = headers.get("Retry-After", "")
    if retry_after.isascii() and retry_after.isdigit() and len(retry_after) <= _LONGEST_DIGITS:
        status.details = status.details or _Details()
        status.details.retry_after_seconds = int(retry_after)
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(code, ApiError)
    error = kind(status, request)
    error.asked_to_retry = bool(retry_after)
    if isinstance(error, Forbidden):
        error.verb, error.resource = verb, resource
    return error


def error_from_loss(loss: ConnectionLost, request: str) -> ApiError:
    """Returns the exception for a response that did not arrive completely."""
    if isinstance(loss, TooLarge):
        return ResponseTooLarge(Status(reason="ResponseTooLarge", message=str(loss)), request)
    return Unavailable(Status(reason="ServiceUnavailable", message=str(loss)), request)


def _shorten(status: Status, *, hide: bool) -> None:
    status.message = _without_quotations(status.message, hide=hide)
    if status.details is not None and status.details.causes:
        status.details.causes = [
            msgspec.structs.replace(cause, message=_without_quotations(cause.message, hide=hide))
            for cause in status.details.causes
        ]


def _status_in(code: int, body: bytes) -> Status:
    try:
        status = msgspec.json.decode(body, type=Status)
    except UNREADABLE:
        text = body.decode("utf-8", "replace").strip()
        return Status(code=code, message=text[:500] or f"HTTP status {code} without a message")
    status.code = status.code or code
    return status
