"""Regular expressions by RE2, which the parser's library brings along: in linear time, whatever the pattern.

Python's own would understand most patterns too, but a hostile one would keep it busy for years.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from kubewright.api._patterns import python_pattern
from kubewright.api.cel._values import EvaluationError

__all__ = ["find_all", "matches", "problem_of"]

_CONFIG: Final = "name: kubewright\nextensions:\n  - name: optional\n  - name: regex\n"
_PROBLEM: Final = "INVALID_ARGUMENT: invalid regular expression: "


@cache
def _expressions() -> tuple[Any, Any]:
    from cel_expr_python import cel  # type: ignore[import-untyped]

    names = ("text", "pattern", "marked")
    environment = cel.NewEnv(config=cel.NewEnvConfigFromYaml(_CONFIG), variables=dict.fromkeys(names, cel.Type.STRING))
    return environment.compile("text.matches(pattern)"), environment.compile("regex.replace(text, pattern, marked)")


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    if "\0" in text or "\0" in pattern:  # at which the library would stop reading
        return _by_python(pattern).search(text) is not None
    found = _expressions()[0].eval(data={"text": text, "pattern": pattern}).value()
    if not isinstance(found, bool):
        raise EvaluationError(f"error parsing regexp: {str(found).removeprefix(_PROBLEM)}")
    return found


def problem_of(pattern: str) -> str:
    """What is wrong with a pattern; empty when nothing is."""
    try:
        matches("", pattern)
    except EvaluationError as error:
        return str(error)
    return ""


def find_all(text: str, pattern: str) -> list[str]:
    """Everything that the pattern finds, from left to right."""
    if problem := problem_of(pattern):
        raise EvaluationError(f"Illegal regex: {problem}")
    if "\0" in text or "\0" in pattern:
        return [found[0] for found in _by_python(pattern).finditer(text)]
    begin, end = (chr(code) for code in _unused(text))
    marked = f"{begin}\\0{end}"
    replaced = _expressions()[1].eval(data={"text": text, "pattern": pattern, "marked": marked}).value()
    return [piece.partition(end)[0] for piece in str(replaced).split(begin)[1:]]


def _by_python(pattern: str) -> re.Pattern[str]:
    try:
        return python_pattern(pattern)
    except ValueError as error:
        raise EvaluationError(f"error parsing regexp: {error}") from None


def _unused(text: str) -> list[int]:
    """Two characters that the text does not have."""
    found: list[int] = []
    code = 0xE000
    while len(found) < 2:
        if chr(code) not in text:
            found.append(code)
        code += 1
    return found
