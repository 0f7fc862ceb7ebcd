"""The `fieldPath` of a rule: the field that an error names."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["PathProblem", "field_path"]

_STEP: Final = re.compile(r"\.(?P<name>[^.\[\]']+)|\['(?P<key>(?:[^'\\]|\\.)*)'\]")
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class PathProblem(ValueError):
    """A path that does not lead to a field."""


def field_path(path: str, schema: dict[str, Any]) -> str:
    """Returns the path as errors write it: `.spec.labels['a']` is `spec.labels[a]`."""
    at, made = 0, ""
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise PathProblem(f"expected [ or . but got: {path[at:]}")
        at = step.end()
        name = step["name"] if step["name"] is not None else _unescaped(step["key"])
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            if name not in properties:
                raise PathProblem("does not refer to a valid field")
            schema = properties[name]
            made += f".{name}" if made else name
        elif isinstance(others, dict):
            schema = others
            made += f"[{name}]"
        else:
            raise PathProblem("does not refer to a valid field")
    return made


def _unescaped(text: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise PathProblem(f"invalid string literal: invalid escape char {found[0]}")
        return _ESCAPES[found[1]]

    return _ESCAPE.sub(replaced, text)
