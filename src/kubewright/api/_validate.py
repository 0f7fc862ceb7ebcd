"""Checking an object against the rules of its kind, before the server does."""

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
    """An object breaks rules of its kind. `violations` has each of them with the path of its field."""

    def __init__(self, object_name: str, found: list[Violation]) -> None:
        super().__init__(f"{object_name}: " + "; ".join(map(str, found)))
        self.object_name = object_name
        self.violations = found


def validate(obj: Object) -> None:
    """Raise `ValidationError` when the object breaks a rule of its kind, as far as that can be told without the server.

    Paths are those that the server names. CEL (`Rule`) is evaluated where the extra `test` is installed; without it,
    only `ExactlyOneOf` and its relatives are. Rules about changes (`Immutable`) need the object as it was, and are left
    to the server. An object that passes may still be refused there: the server knows more, as the rules for names and
    labels, quotas and webhooks. Raises TypeError for a kind without a schema, as an `Untyped` is.
    """
    if isinstance(obj, Untyped):
        raise TypeError(f"{obj} is untyped: it has no rules that could be checked")
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
