"""CEL expressions that are generated, and recognized again: field names, and how many fields are set."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

__all__ = ["Comparison", "cel_name", "holds_one_of", "one_of"]

Comparison: TypeAlias = Literal["==", "<=", ">="]

# Reserved words of CEL. A field with such a name is written between underscores.
_CEL_WORDS: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_CEL_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}

_HAS: Final = re.compile(r"has\(self\.(\w+)\)")
_COMPARE: Final = {"==": operator.eq, "<=": operator.le, ">=": operator.ge}


def one_of(fields: Sequence[str], comparison: Comparison) -> str:
    """Returns the rule that exactly (==), at most (<=) or at least (>=) one of these fields is set.

    Each form is the cheapest one, because the server limits the estimated cost of rules, which counts in long lists.
    """
    return _one_of([cel_name(field) for field in fields], comparison)


def _one_of(names: Sequence[str], comparison: str) -> str:
    has = [f"has(self.{name})" for name in names]
    if comparison == ">=":
        return " || ".join(has)
    if len(has) == 2:
        return " != ".join(has) if comparison == "==" else f"!({' && '.join(has)})"
    return f"{' + '.join(f'({one} ? 1 : 0)' for one in has)} {comparison} 1"


def holds_one_of(rule: str, is_set: Callable[[str], bool]) -> bool | None:
    """Whether a rule of `one_of` holds, given which CEL names are set; None for any other rule."""
    names = _HAS.findall(rule)
    for comparison, compare in _COMPARE.items():
        if len(names) > 1 and rule == _one_of(names, comparison):
            return bool(compare(sum(map(is_set, names)), 1))
    return None


def cel_name(field: str) -> str:
    """Returns the name of a field in a CEL expression."""
    if field in _CEL_WORDS:
        return f"__{field}__"
    return re.sub(r"__|[./-]", lambda found: _CEL_ESCAPES[found[0]], field)
