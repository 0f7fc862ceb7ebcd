"""`laid_out`: breaks long lines of Python code like `ruff format`.

Templates are written for short names. A line that a long name makes too long is broken at its brackets, so that a new
project passes its own `make vet`, and `make fmt` changes nothing. Only the statements of the templates are supported:
imports, definitions, decorators and calls, each on one line. Docstrings are not broken: templates keep them short
enough for the longest name.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["WIDTH", "laid_out"]

WIDTH: Final = 120
"""The line length in the project's pyproject.toml."""

_INDENT: Final = "    "
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
_IMPORT: Final = re.compile(r"(from \S+ import )([^(]+)")
_FUNCTION: Final = re.compile(r"(async )?def ")
_DEFINITION: Final = re.compile(r"(async )?def |class ")
_LITERAL: Final = re.compile(r"(^|[ =(\[])[\[{]$")
_UNBREAKABLE: Final = "  # noqa: E501"


def laid_out(text: str) -> str:
    """Returns the code with every long line broken at a bracket, if it has one."""
    lines: list[str] = []
    for line in text.splitlines():
        lines += _broken(line) if len(line) > WIDTH else [line]
    return "".join(f"{line}\n" for line in lines)


def _broken(line: str) -> list[str]:
    if found := _IMPORT.fullmatch(line):
        parts = [f"{found[1]}(", *(f"{_INDENT}{name}," for name in found[2].split(", ")), ")"]
        return [part + _UNBREAKABLE if len(part) > WIDTH else part for part in parts]
    indent = line[: len(line) - len(line.lstrip())]
    return _split(line.strip(), indent)


def _split(code: str, indent: str, end: str = "") -> list[str]:
    """Returns the lines of a statement, or of one element of a list with its comma."""
    if len(indent + code + end) <= WIDTH:
        return [f"{indent}{code}{end}"]
    pairs = _outer_brackets(code)
    if not pairs or code.startswith(('"""', "#")):
        return [f"{indent}{code}{end}"]
    start, stop = pairs[0] if _DEFINITION.match(code) else pairs[-1]
    inner, deeper = code[start + 1 : stop], indent + _INDENT
    elements = _elements(inner)
    one_each = _LITERAL.search(code[: start + 1]) if len(elements) > 1 else _FUNCTION.match(code)
    if len(deeper + inner) <= WIDTH and not one_each:
        body = [deeper + inner]
    else:
        body = [line for element in elements for line in _split(element, deeper, ",")]
    return [f"{indent}{code[: start + 1]}", *body, f"{indent}{code[stop:]}{end}"]


def _outer_brackets(code: str) -> list[tuple[int, int]]:
    """Returns the positions of the outermost pairs of brackets that are not empty."""
    found: list[tuple[int, int]] = []
    depth, start, quoted = 0, 0, False
    for place, character in enumerate(code):
        if character == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif character in _PAIRS:
            depth += 1
            start = place if depth == 1 else start
        elif character in _PAIRS.values():
            depth -= 1
            if depth == 0 and place > start + 1:
                found.append((start, place))
    return found


def _elements(inner: str) -> list[str]:
    """Returns the elements between brackets, separated at the outermost commas."""
    outside = list(inner)
    for start, stop in _outer_brackets(inner):
        outside[start:stop] = "x" * (stop - start)
    quoted = False
    parts, begin = [], 0
    for place, character in enumerate(outside):
        quoted = quoted != (character == '"')
        if character == "," and not quoted:
            parts.append(inner[begin:place].strip())
            begin = place + 1
    return [*parts, inner[begin:].strip()]
