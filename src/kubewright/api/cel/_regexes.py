"""The regular expressions of CEL functions: patterns of Kubernetes, with CEL's errors."""

from __future__ import annotations

from kubewright import regex
from kubewright.api.cel._values import EvaluationError
from kubewright.regex import InvalidPattern, check_pattern, text_matches

__all__ = ["find_all", "matches", "problem_of"]


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern matches anywhere in the text."""
    try:
        return text_matches(pattern, text)
    except InvalidPattern as error:
        raise EvaluationError(str(error)) from None


def problem_of(pattern: str) -> str:
    """Returns the problem with a pattern; empty if it is valid."""
    try:
        check_pattern(pattern)
    except InvalidPattern as error:
        return str(error)
    return ""


def find_all(text: str, pattern: str) -> list[str]:
    """Returns all matches of the pattern, from left to right."""
    try:
        return list(regex.find_all(pattern, text))
    except InvalidPattern as error:
        raise EvaluationError(f"Illegal regex: {error}") from None
