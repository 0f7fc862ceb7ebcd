"""`Refused`: the error of requests that cannot be merged."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["Refused", "bad_request", "cannot_unmarshal", "refusing_depth"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Refused(Exception):
    """A request that cannot be merged. The attributes are those of the real server's Status.

    `causes` are the `details.causes` of a conflict: reason, message and field of each.
    """

    def __init__(self, code: int, reason: str, message: str, causes: tuple[dict[str, Any], ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = causes
        self.failed: tuple[Any, dict[str, Any]] | None = None
        """For a JSON Patch: the document before the operation that does not apply, and that operation."""


def bad_request(message: str) -> Refused:
    """Returns a 400 for an invalid request."""
    return Refused(400, "BadRequest", message)


def cannot_unmarshal(value: Any, wanted: str) -> Refused:
    """Returns a 400 with Go's message for a patch of the wrong JSON type."""
    kinds = {dict: "object", list: "array", str: "string", bool: "bool"}
    kind = kinds.get(type(value), "number")
    return bad_request(f"error decoding patch: json: cannot unmarshal {kind} into Go value of type {wanted}")


def refusing_depth(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Wraps a function so that excessive nesting raises a 400 instead of RecursionError."""

    @wraps(function)
    def refusing(*arguments: _P.args, **named: _P.kwargs) -> _R:
        try:
            return function(*arguments, **named)
        except RecursionError:
            raise bad_request("the object or patch is nested too deeply") from None

    return refusing
