"""Checking an object against the rules of its kind, before the server does."""

from __future__ import annotations

from functools import cache
from typing import Any

from kubewright.api._codec import to_dict
from kubewright.api._object import Object
from kubewright.api._untyped import Untyped
from kubewright.api._violation import Violation

__all__ = ["ValidationError", "Violation", "validate"]


class ValidationError(ValueError):
    """An object breaks rules of its kind. `violations` has each of them with the path of its field."""

    def __init__(self, object_name: str, found: list[Violation]) -> None:
        super().__init__(f"{object_name}: " + "; ".join(map(str, found)))
        self.object_name = object_name
        self.violations = found


def validate(obj: Object) -> None:
    """Raise `ValidationError` when the object breaks a rule of its kind: all of them but CEL rules.

    Paths are those that the server names. CEL (`Rule`, `Immutable`) is checked by the server only; `ExactlyOneOf` and
    its relatives are checked here too. An object that passes may still be refused by the server, which knows more: CEL
    rules, the rules for names and labels, quotas and webhooks. Raises TypeError for a kind without a schema, as an
    `Untyped` is.
    """
    if isinstance(obj, Untyped):
        raise TypeError(f"{obj} is untyped: it has no rules that could be checked")
    from kubewright.api._validation import violations  # with all formats and patterns: most programs never ask

    if found := violations(_schema(type(obj)), to_dict(obj)):
        raise ValidationError(str(obj), found)


@cache
def _schema(kind: type[Object]) -> dict[str, Any]:
    from kubewright.api._structural import schema_of

    return schema_of(kind)
