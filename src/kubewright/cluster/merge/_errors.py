"""What merging refuses."""

from __future__ import annotations

from typing import Any

__all__ = ["Refused"]


class Refused(Exception):
    """A request that cannot be merged. The attributes are those of the Status that the real server answers with.

    `causes` are the `details.causes` of a conflict: reason, message and field of each.
    """

    def __init__(self, code: int, reason: str, message: str, causes: tuple[dict[str, Any], ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = causes


def bad_request(message: str) -> Refused:
    """400: the request is wrong in itself."""
    return Refused(400, "BadRequest", message)


def cannot_unmarshal(value: Any, wanted: str) -> Refused:
    """400: a patch whose JSON is of another kind than it must be, in Go's words."""
    kinds = {dict: "object", list: "array", str: "string", bool: "bool"}
    kind = kinds.get(type(value), "number")
    return bad_request(f"error decoding patch: json: cannot unmarshal {kind} into Go value of type {wanted}")
