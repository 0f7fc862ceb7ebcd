"""JSONPath of printer columns and selectable fields: `.spec.replicas`, `.status.list[?(@.type=="Ready")].status`.

Supports the subset of kubectl's JSONPath that CRDs may use: members by name, with `\\.` for a dot in a name or as
`['a.b']`, elements by index or `*`, and filters that compare a member with a constant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

__all__ = ["PathError", "find_values", "parse_path"]

Step: TypeAlias = Callable[[Any], Iterator[Any]]

_TOKEN: Final = re.compile(
    r"""
      \.(?P<member>(?:\\.|[^.\[\]\\])+)
    | \[(?P<number>-?\d+)\]
    | \[(?P<star>\*)\]
    | \[(?P<quote>['"])(?P<quoted>(?:\\.|(?!(?P=quote)).)*)(?P=quote)\]
    | \[\?\(\s*@(?P<operand>(?:\.(?:\\.|[^.\s=!<>\[\]()\\])+)+)\s*(?P<operator>==|!=|<=|>=|<|>)\s*
        (?P<constant>"[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false)\s*\)\]
    """,
    re.VERBOSE,
)
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other),
    "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other),
    ">=": lambda one, other: bool(one >= other),
}


class PathError(ValueError):
    """The path is invalid; the message says where."""


@lru_cache(maxsize=1024)
def parse_path(path: str) -> tuple[Step, ...]:
    """Returns the steps of a path. Raises `PathError`."""
    steps: list[Step] = []
    at = 0
    while at < len(path):
        token = _TOKEN.match(path, at)
        if token is None:
            raise PathError(f"{path[at:]!r} in {path!r} is not a path")
        steps.append(_step(token))
        at = token.end()
    return tuple(steps)


def find_values(path: str, value: Any) -> list[Any]:
    """Returns all values at the path; none if a member is missing. Raises `PathError`."""
    found = [value]
    for step in parse_path(path):
        found = [result for each in found for result in step(each)]
    return found


def _step(token: re.Match[str]) -> Step:
    if (number := token["number"]) is not None:
        return _element(int(number))
    if token["star"]:
        return _elements
    if token["operand"] is not None:
        return _filter(token["operand"], token["operator"], token["constant"])
    name = token["member"] if token["member"] is not None else token["quoted"]
    return _member(re.sub(r"\\(.)", r"\1", name))


def _member(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if name == "*":
            yield from _elements(value)
        elif isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _element(number: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= number < len(value):
            yield value[number]

    return step


def _elements(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


def _filter(operand: str, operator: str, constant: str) -> Step:
    compare, wanted = _COMPARE[operator], _constant(constant)

    def step(value: Any) -> Iterator[Any]:
        for element in value if isinstance(value, list) else ():
            for found in find_values(operand, element):
                if type(found) is type(wanted) and compare(found, wanted):
                    yield element

    return step


def _constant(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    return float(text) if "." in text else int(text)
