"""The CEL rules of kinds, compiled before a definition with them is handed to anybody."""

from __future__ import annotations

from typing import Any

from kubewright.api import Object
from kubewright.api.schema import schema_of

__all__ = ["check_rules"]


def check_rules(*kinds: type[Object]) -> None:
    """Raise ValueError for rules that the server would not compile, with the class, the field and the compiler's words.

    Nothing is said where the extra `test` is not installed: then the server is the first who knows.
    """
    if problems := [problem for kind in kinds for problem in _problems(kind)]:
        raise ValueError("\n".join(problems))


def _problems(kind: type[Object]) -> list[str]:
    from kubewright.api.cel import Rules, has_rules, is_available  # not needed by whoever writes no definitions

    schema: dict[str, Any] = schema_of(kind)
    if not has_rules(schema) or not is_available():
        return []
    return [
        f"{kind.__name__}: {problem.path or 'the object'}: the rule {problem.expression!r}: {_words(problem.detail)}"
        for problem in Rules(schema).problems()
    ]


def _words(detail: str) -> str:
    """What the compiler says, without its picture of the expression, which stands there already."""
    return " ".join(line for line in detail.splitlines() if not line.startswith(" | "))
