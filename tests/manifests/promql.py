"""The names in a PromQL expression: metrics, each with the labels by which it is selected or grouped."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    | (?P<range>\[[^\]]*\])
    | (?P<number>(?:\d+(?:\.\d+)?(?:[smhdwy]|ms)?)+)
    | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
    | (?P<symbol>=~|!~|!=|==|<=|>=|[-+*/%^<>=(){},])
    )""",
    re.VERBOSE,
)
_GROUPING = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_OPERATORS = {"and", "or", "unless", "bool", "offset", "atan2"}


@dataclass
class Names:
    metrics: dict[str, set[str]] = field(default_factory=dict)
    """Metrics, each with the labels of its matchers."""
    groupings: set[str] = field(default_factory=set)
    """Labels in `by (...)` and the like."""
    functions: set[str] = field(default_factory=set)


def tokens(expression: str) -> list[tuple[str, str]]:
    found, place = [], 0
    while place < len(expression.rstrip()):
        match = _TOKEN.match(expression, place)
        if match is None:
            raise ValueError(f"not PromQL at {expression[place : place + 20]!r}: {expression}")
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        place = match.end()
    return found


def names_in(expression: str) -> Names:
    """Returns the names of an expression. Raises ValueError if brackets do not match."""
    found, listed = Names(), tokens(expression)
    depth, place = 0, 0
    while place < len(listed):
        kind, text = listed[place]
        following = listed[place + 1][1] if place + 1 < len(listed) else ""
        place += 1
        depth += {"(": 1, ")": -1}.get(text, 0) if kind == "symbol" else 0
        if depth < 0:
            raise ValueError(f"an unexpected closing bracket: {expression}")
        if kind != "name" or text in _OPERATORS:
            continue
        if text in _GROUPING:
            labels, place = _inside(listed, place, "(", ")")
            found.groupings.update(name for kind, name in labels if kind == "name")
        elif following == "(" or following in _GROUPING:
            found.functions.add(text)
        else:
            labels_of = found.metrics.setdefault(text, set())
            if following == "{":
                inside, place = _inside(listed, place, "{", "}")
                labels_of.update(_matched(inside))
    if depth:
        raise ValueError(f"a bracket is not closed: {expression}")
    return found


def _inside(listed: list[tuple[str, str]], place: int, opening: str, closing: str) -> tuple[list[tuple[str, str]], int]:
    if listed[place][1] != opening:
        return [], place
    end = next(index for index in range(place, len(listed)) if listed[index][1] == closing)
    return listed[place + 1 : end], end + 1


def _matched(inside: list[tuple[str, str]]) -> Iterator[str]:
    for (kind, name), (_, symbol) in itertools.pairwise(inside):
        if kind == "name" and symbol in ("=", "!=", "=~", "!~"):
            yield name
