"""Python source for values: literals, calls and docstrings, wrapped at the line length."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

__all__ = ["WIDTH", "Doc", "Group", "call", "docstring", "layout", "literal", "value_doc"]

WIDTH: Final = 120


@dataclass(frozen=True, slots=True)
class Group:
    """A bracketed expression: on one line if it fits, else one line per part."""

    opening: str
    parts: tuple[Doc, ...]
    closing: str


Doc: TypeAlias = str | Group


def call(name: str, *parts: Doc) -> Doc:
    """Returns a function call."""
    return Group(f"{name}(", parts, ")") if parts else f"{name}()"


def prefixed(prefix: str, doc: Doc) -> Doc:
    """Returns the expression after a prefix, such as a keyword or a key."""
    return prefix + doc if isinstance(doc, str) else Group(prefix + doc.opening, doc.parts, doc.closing)


def suffixed(doc: Doc, suffix: str) -> Doc:
    """Returns the expression before a suffix."""
    return doc + suffix if isinstance(doc, str) else Group(doc.opening, doc.parts, doc.closing + suffix)


def layout(doc: Doc, indent: int = 0, *, behind: int = 0) -> str:
    """Returns the source. Lines after the first are indented."""
    flat = _flat(doc)
    if isinstance(doc, str) or not doc.parts or indent + len(flat) + behind <= WIDTH:
        return flat
    inner = " " * (indent + 4)
    parts = "".join(f"{inner}{layout(part, indent + 4, behind=1)},\n" for part in doc.parts)
    return f"{doc.opening}\n{parts}{' ' * indent}{doc.closing}"


def _flat(doc: Doc) -> str:
    return doc if isinstance(doc, str) else doc.opening + ", ".join(map(_flat, doc.parts)) + doc.closing


def literal(value: Any) -> str:
    """Returns a value on one line."""
    return _flat(value_doc(value))


def value_doc(value: Any) -> Doc:
    """Returns a JSON value as Python source. Unprintable characters are escaped."""
    if isinstance(value, dict):
        return Group("{", tuple(prefixed(f"{literal(key)}: ", value_doc(each)) for key, each in value.items()), "}")
    if isinstance(value, list | tuple):
        return Group("[", tuple(map(value_doc, value)), "]")
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    raise TypeError(f"{value!r} is not a JSON value")


def _quoted(text: str) -> str:
    """Returns a string in double quotes, as a raw string if that avoids backslashes."""
    if "\\" in text and '"' not in text and text.isprintable() and not text.endswith("\\"):
        return f'r"{text}"'
    shown = repr(text)
    if shown[0] == '"' or '"' in text:
        return shown
    return '"' + shown[1:-1].replace("\\'", "'") + '"'


def docstring(text: str, indent: int) -> Iterator[str]:
    """Yields the lines of a docstring. `inspect.cleandoc` returns the same text."""
    first, *rest = [_escaped(line) for line in text.split("\n")]
    margin = " " * indent
    if not rest:
        yield f'{margin}"""{first}"""'
        return
    yield f'{margin}"""{first}'
    yield from (f"{margin}{line}" if line else "" for line in rest)
    yield f'{margin}"""'


def _escaped(line: str) -> str:
    """Returns a line of a docstring, with closing quotes and unprintable characters escaped."""
    shown: list[str] = []
    quotes = 0
    for index, char in enumerate(line):
        quotes = quotes + 1 if char == '"' else 0
        if char == "\\" or (char == '"' and (quotes == 3 or index == len(line) - 1)):
            shown.append("\\" + char)
            quotes = 0
        else:
            shown.append(char if char.isprintable() else char.encode("unicode_escape").decode())
    return "".join(shown)
