"""Failing requests: which ones, how, and whether they are committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Self, TypeAlias

import msgspec

from kubewright.api.wire import UNREADABLE
from kubewright.cluster.laboratory._scope import Scope
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, already_exists, internal, modified

__all__ = [
    "WRITES",
    "Decision",
    "Failing",
    "Fault",
    "Incoming",
    "Outcome",
    "check_failure",
    "is_create_conflict",
    "matcher",
    "refusal",
]

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_READS: Final = frozenset({"get", "list", "watch"})
_APPLY: Final = "application/apply-patch"

Outcome: TypeAlias = int | Literal["lost", "timeout"]
"""How a request fails: a status; `lost`, the connection ends without a response; `timeout`, no response is sent."""


class _Metadata(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_named: Final = msgspec.json.Decoder(_Named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A resource request, as passed to hooks.

    `verb` is `apply` for a server-side apply, which is a `patch` otherwise. `name` is that of the path, or of the body
    of a create.
    """

    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str
    user: str
    dry_run: bool

    @property
    def writes(self) -> bool:
        """Returns whether the request is a write and not a dry run."""
        return self.verb not in _READS and not self.dry_run

    @classmethod
    def of(cls, call: Call) -> Self:
        """Returns the attributes of a call before it is served."""
        applies = call.verb == "patch" and call.header("Content-Type").startswith(_APPLY)
        return cls(
            verb="apply" if applies else call.verb,
            resource=call.type.qualified,
            namespace=call.namespace,
            name=call.name or _name_in(call),
            subresource=call.subresource,
            user=call.user.name,
            dry_run=call.dry_run,
        )


def _name_in(call: Call) -> str:
    if call.verb != "create" or not call.request.body:
        return ""
    try:
        return _named.decode(call.request.body).metadata.name
    except UNREADABLE:  # another format, or invalid: the server reports it
        return ""


@dataclass(frozen=True, slots=True)
class Failing:
    """How a request fails. If `committed`, the request is served first, and only its response is replaced.

    If the server itself rejects a committed request, the client receives that rejection.
    """

    status: Outcome = 500
    committed: bool = False
    retry_after: int | None = None


Decision: TypeAlias = Callable[[Incoming], Failing | None]
"""Decides about a request: returns how it fails, or None to serve it."""


class Fault(Scope):
    """A fault that lasts until `end`, or until the end of its `with` block.

    `seen` counts the matching requests, `hits` the failed ones.
    """

    def __init__(self, matches: Callable[[Incoming], bool], decide: Decision, ended: Callable[[Fault], None]) -> None:
        self._matches = matches
        self._decide = decide
        self._ended = ended
        self.seen = 0
        self.hits = 0

    def failure_of(self, incoming: Incoming) -> Failing | None:
        """Returns how a request fails; None if it is served."""
        if not self._matches(incoming):
            return None
        self.seen += 1
        failing = self._decide(incoming)
        if failing is None or is_create_conflict(failing, incoming.verb):
            return None  # served: the server itself returns AlreadyExists if the object exists
        self.hits += 1
        return failing

    def end(self) -> None:
        """Ends the fault. May be called more than once."""
        self._ended(self)


def check_failure(failing: Failing, verb: str) -> None:
    """Raises ValueError for a failure that no server returns."""
    status = failing.status
    if isinstance(status, str):
        if status not in ("lost", "timeout"):
            raise ValueError(f'status={status!r} is not a failure: use a number such as 503, "lost" or "timeout"')
    elif isinstance(status, bool) or not 400 <= status <= 599:
        raise ValueError(f"status={status!r} is not a failure: use a status from 400 to 599")
    elif is_create_conflict(failing, verb):
        raise ValueError(
            "a create fails with 409 AlreadyExists only if the object exists: create the object first, without a"
            " fault, or set committed=True, so that this request creates it and returns 409"
        )


def is_create_conflict(failing: Failing, verb: str) -> bool:
    """Returns whether a create would fail because of an object that need not exist."""
    return failing.status == 409 and verb == "create" and not failing.committed


def matcher(
    *, verb: str, resource: str, namespace: str, name: str, subresource: str | None, user: str
) -> Callable[[Incoming], bool]:
    """Returns a function that matches requests. An empty argument matches everything, an empty verb every write."""
    if verb and verb not in WRITES | _READS | {"apply"}:
        raise ValueError(f"unknown verb {verb!r}; use one of {', '.join(sorted(WRITES | _READS | {'apply'}))}")

    def matches(incoming: Incoming) -> bool:
        if verb:
            meant = verb == incoming.verb or (verb == "patch" and incoming.verb == "apply")
        else:
            meant = incoming.verb not in _READS
        return (
            meant
            and not incoming.dry_run
            and (not resource or incoming.resource == resource)
            and (not namespace or incoming.namespace == namespace)
            and (not name or incoming.name == name)
            and (subresource is None or incoming.subresource == subresource)
            and (not user or incoming.user == user)
        )

    return matches


_TIMEOUT: Final = "request did not complete within the allotted timeout"
_BUSY: Final = "the server has received too many requests and has asked us to try again later"
_AWAY: Final = "the server is currently unable to handle the request"


def refusal(call: Call, incoming: Incoming, status: int, retry_after: int | None) -> Failure:
    """Returns the failure with a status, with the message of the real server if it has one."""
    later = {"retryAfterSeconds": retry_after} if retry_after is not None else None
    match status:
        case 409 if incoming.verb == "create":
            return already_exists(call.type, incoming.name)
        case 409:
            return modified(call.type, incoming.name)
        case 429:
            return Failure(429, "TooManyRequests", _BUSY, later, retry_after=1 if retry_after is None else retry_after)
        case 500:
            return internal("the laboratory failed this request on demand")
        case 503:
            return Failure(503, "ServiceUnavailable", _AWAY, later, retry_after=retry_after)
        case 504:
            return Failure(504, "Timeout", f"Timeout: {_TIMEOUT}", later or {}, retry_after=retry_after)
        case _:
            text = "the laboratory failed this request on demand"
            return Failure(status, "", text, later, retry_after=retry_after)
