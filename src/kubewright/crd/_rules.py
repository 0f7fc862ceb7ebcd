"""Compiles the CEL rules of kinds before their definition is used."""

from __future__ import annotations

from typing import Any

from kubewright.api import Object
from kubewright.api.schema import schema_of

__all__ = ["check_rules"]


def check_rules(*kinds: type[Object]) -> None:
    """Raises ValueError for rules that the server cannot compile, with the class, the field and the compiler's message.

    Does nothing if the extra `test` is not installed; the server then checks first.
    """
    if problems := [problem for kind in kinds for problem in _problems(kind)]:
        raise ValueError("\n".join(problems))


def _problems(kind: type[Object]) -> list[str]:
    from kubewright.api.cel import Rules, has_rules, is_available  # large, and only definitions need it

    schema: dict[str, Any] = schema_of(kind)
    if not has_rules(schema) or not is_available():
        return []
    return [
        f"{kind.__name__}: {problem.path or 'the object'}: the rule {problem.expression!r}: {_words(problem.detail)}"
        for problem in Rules(schema).problems()
    ]


def _words(detail: str) -> str:
    """Returns the compiler's message without its picture of the expression, which the message already has."""
    return " ".join(line for line in detail.splitlines() if not line.startswith(" | "))
