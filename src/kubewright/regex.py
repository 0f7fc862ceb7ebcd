"""Regular expressions of Kubernetes: RE2 syntax, evaluated in linear time.

A pattern comes from a CustomResourceDefinition, which another client may have written. Python's `re` backtracks:
`^(a+)+$` against 30 letters takes seconds. RE2 (google-re2, in the extra `test`) takes linear time, and has the API
server's semantics: a match anywhere in the string, ASCII `\\d` and `\\w`, `$` only at the end. There is no fallback to
`re`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, Final

__all__ = [
    "QUANTITY",
    "EngineMissing",
    "InvalidPattern",
    "check_pattern",
    "find_all",
    "has_engine",
    "skip_pattern",
    "text_matches",
]

log = logging.getLogger("kubewright.api")

QUANTITY: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""The pattern of a quantity, exactly as Go's tools write it. It does not backtrack, so it needs no RE2."""

_GO_WORDS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}
"""Go's messages for RE2's."""
_TOKEN: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|[()]", re.DOTALL)
_MOST_NESTED: Final = 1000
_CACHE_SIZE: Final = 128
"""Compiled patterns in the cache. Each can take megabytes."""


class InvalidPattern(ValueError):
    """A pattern that Go cannot compile. The message is Go's: "error parsing regexp: missing closing ): `(`"."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{part}`")


class EngineMissing(ImportError):
    """A pattern must be evaluated, but google-re2 is not installed."""

    def __init__(self) -> None:
        super().__init__("patterns need the package google-re2: pip install 'kubewright[test]'")


def has_engine(regex: str = "") -> bool:
    """Returns whether the pattern can be evaluated here. Does not load the library."""
    return regex == QUANTITY or find_spec("re2") is not None


def check_pattern(regex: str) -> None:
    """Raises `InvalidPattern` for a pattern that the API server rejects. Without google-re2, accepts every pattern."""
    if has_engine(regex):
        _compiled(regex)


def text_matches(regex: str, text: str) -> bool:
    """Returns whether the pattern matches anywhere in the text. Raises `InvalidPattern` or `EngineMissing`."""
    return _compiled(regex).search(_utf8(text)) is not None


def find_all(regex: str, text: str) -> Iterator[str]:
    """Yields all matches from left to right, as Go's FindAllString does."""
    end = -1
    for found in _compiled(regex).finditer(_utf8(text)):
        if found.start() < found.end() or found.start() != end:
            yield found.group().decode()
        end = found.end()


@cache
def skip_pattern() -> None:
    """Logs, once per process, that patterns are not checked because google-re2 is missing."""
    log.warning(
        "patterns are not checked here, the API server checks them: google-re2 is not installed;"
        " to check them, pip install 'kubewright[test]'"
    )


@lru_cache(maxsize=_CACHE_SIZE)
def _compiled(regex: str) -> Any:
    try:
        import re2  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        if regex == QUANTITY:
            return re.compile(QUANTITY.replace("$", r"\Z").encode())
        raise EngineMissing from None
    _check_for_go(regex)
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_utf8(regex), options)
    except re2.error as error:
        problem, _, part = bytes(error.args[0]).decode(errors="replace").partition(": ")
        raise InvalidPattern(_GO_WORDS.get(problem, problem), part) from None


def _check_for_go(regex: str) -> None:
    """Rejects the two things that RE2 accepts and Go does not."""
    depth = 0
    for token in _TOKEN.finditer(regex):
        if token[0] == "\\C":
            raise InvalidPattern("invalid escape sequence", "\\C")
        depth += (token[0] == "(") - (token[0] == ")")
        if depth > _MOST_NESTED:
            raise InvalidPattern("expression nests too deeply", regex)


def _utf8(text: str) -> bytes:
    """Encodes a string. A lone surrogate, which UTF-8 cannot encode, becomes a question mark."""
    return text.encode(errors="replace")
