"""Failing requests: which ones, how, and whether they are committed."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from kubewright.cluster.laboratory._requests import Incoming, Matches, Served
from kubewright.cluster.laboratory._scope import Scope
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, already_exists, internal, modified
from kubewright.signatures import can_take, is_async, is_generator, location_of, name_of

__all__ = [
    "Decision",
    "Failing",
    "Fault",
    "Outcome",
    "check_failure",
    "check_hook",
    "check_write_hook",
    "is_create_conflict",
    "refusal",
]

Outcome: TypeAlias = int | Literal["lost", "timeout"]
"""How a request fails: a status; `lost`, the connection ends without a response; `timeout`, no response is sent."""


@dataclass(frozen=True, slots=True)
class Failing:
    """How a request fails. If `committed`, the request is served first, and only its response is replaced.

    If the server itself rejects a committed request, the client receives that rejection.
    """

    status: Outcome = 500
    committed: bool = False
    retry_after: int | None = None


Decision: TypeAlias = Callable[[Any], Failing | Awaitable[Failing | None] | None]
"""Acts on a request, plain or async: returns how it fails, or None to serve it, or to send its response."""


class Fault(Scope):
    """A fault or a hook that lasts until `end`, or until the end of its `with` block.

    `seen` counts the matching requests, `hits` the failed ones. `error` is the first exception that a hook raised.
    """

    def __init__(self, matches: Matches, decide: Decision, ended: Callable[[Fault], None]) -> None:
        self._matches = matches
        self._decide = decide
        self._ended = ended
        self.seen = 0
        self.hits = 0
        self.error: Exception | None = None

    async def failure_of(self, incoming: Incoming, served: Served | None = None) -> Failing | None:
        """Returns how a request fails; None if it is served. Raises the exception of a hook."""
        if not self._matches(incoming):
            return None
        self.seen += 1
        try:
            failing = self._decide(incoming if served is None else served)
            if inspect.isawaitable(failing):
                failing = await failing
        except Exception as error:
            self.error = self.error or error
            raise
        if failing is None or (served is None and is_create_conflict(failing, incoming.verb)):
            return None  # served: the server itself returns AlreadyExists if the object exists
        self.hits += 1
        return failing

    def end(self) -> None:
        """Ends the fault. May be called more than once."""
        self._ended(self)


def check_hook(hook: object, when: str) -> None:
    """Raises TypeError for an object that is not a function of one argument, ValueError for an unknown `when`."""
    if when not in ("before", "after"):
        raise ValueError(f'when={when!r} is unknown: use "before" or "after"')
    what = "the Incoming request" if when == "before" else "the Served request"
    if not callable(hook) or isinstance(hook, type):
        raise TypeError(f"on_request takes a function of one argument, {what}, not {hook!r}")
    if is_generator(hook):
        raise TypeError(f"{name_of(hook)}{location_of(hook)} has a yield, so a call would not run it: return instead")
    if not can_take(hook, 1):
        raise TypeError(f"{name_of(hook)}{location_of(hook)} must take one argument, {what}")


def check_write_hook(hook: object) -> None:
    """Raises TypeError for an object that is not a plain function of one argument."""
    if not callable(hook) or is_async(hook) or not can_take(hook, 1):
        raise TypeError(f"on_write takes a plain function of one argument, the JournalEntry, not {hook!r}")


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
