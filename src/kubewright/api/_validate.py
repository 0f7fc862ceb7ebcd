"""Checks an object against the constraints of its kind, before it is sent."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kubewright.api._codec import to_dict
from kubewright.api._encodable import not_encodable
from kubewright.api._object import Object
from kubewright.api._untyped import Untyped
from kubewright.api._violation import Violation

if TYPE_CHECKING:
    from kubewright.api.cel import Rules

__all__ = ["ValidationError", "Violation", "validate"]


class ValidationError(ValueError):
    """An object violates constraints of its kind. `violations` has each of them with the path of its field."""

    def __init__(self, object_name: str, found: list[Violation]) -> None:
        super().__init__(f"{object_name}: " + "; ".join(map(str, found)))
        self.object_name = object_name
        self.violations = found


def validate(obj: Object) -> None:
    """Raises `ValidationError` if the object violates a constraint of its kind that needs no server.

    Field paths are the server's. CEL (`Rule`) is evaluated if the extra `test` is installed; without it, only
    `ExactlyOneOf`, `AtMostOneOf` and `AtLeastOneOf` are. Constraints on changes (`Immutable`) need the previous object
    and are left to the server. The server can still reject an object that passes: it also checks names and labels,
    quotas and webhooks. Raises TypeError for a kind without a schema, such as `Untyped`.
    """
    if isinstance(obj, Untyped):
        raise TypeError(f"{obj} is untyped: it has no constraints to check")
    from kubewright.api.schema._validation import violations  # with all formats and patterns: most programs never ask

    if found := not_encodable(obj) or violations(_schema(type(obj)), to_dict(obj), rules=_rules(type(obj))):
        raise ValidationError(str(obj), found)


@cache
def _schema(kind: type[Object]) -> dict[str, Any]:
    from kubewright.api.schema._structural import schema_of

    return schema_of(kind)


@cache
def _rules(kind: type[Object]) -> Rules | None:
    from kubewright.api.schema._validation import rules_of

    return rules_of(_schema(kind))
