"""An expression as a tree. Macros (`has`, `all`, `map`) have been expanded; every node has its own number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "Call",
    "Entry",
    "Fold",
    "Ident",
    "ListNode",
    "Literal",
    "MapNode",
    "Node",
    "Select",
    "StructNode",
    "Syntax",
    "children",
    "qualified_name",
]


@dataclass(slots=True)
class Literal:
    """A constant, as a value of the runtime."""

    id: int
    value: Any


@dataclass(slots=True)
class Ident:
    """A variable."""

    id: int
    name: str


@dataclass(slots=True)
class Select:
    """`operand.field`; or, as a test, `has(operand.field)`."""

    id: int
    operand: Node
    field: str
    is_test: bool


@dataclass(slots=True)
class Call:
    """`function(arguments)`, or `target.function(arguments)`. Operators are functions, too: `_+_`."""

    id: int
    function: str
    target: Node | None
    arguments: list[Node]


@dataclass(slots=True)
class ListNode:
    """`[1, 2, ?x]`: `optional` has the places of elements that may be missing."""

    id: int
    elements: list[Node]
    optional: frozenset[int]


@dataclass(slots=True)
class Entry:
    """One `key: value` of a map, or of a struct, whose keys are strings."""

    id: int
    key: Node | str
    value: Node
    is_optional: bool


@dataclass(slots=True)
class MapNode:
    """`{"a": 1}`."""

    id: int
    entries: list[Entry]


@dataclass(slots=True)
class StructNode:
    """`Object{field: 1}`."""

    id: int
    name: str
    entries: list[Entry]


@dataclass(slots=True)
class Fold:
    """A loop over a list or a map: the expansion of a macro."""

    id: int
    variable: str
    second_variable: str
    range: Node
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


Node: TypeAlias = Literal | Ident | Select | Call | ListNode | MapNode | StructNode | Fold


@dataclass(slots=True)
class Syntax:
    """A parsed expression, with the positions of its nodes."""

    text: str
    root: Node
    offsets: dict[int, int]


def qualified_name(node: Node) -> str:
    """Returns `a.b.c` for a chain of names; an empty string for any other node."""
    match node:
        case Ident(name=name):
            return name
        case Select(operand=operand, field=field, is_test=False):
            prefix = qualified_name(operand)
            return f"{prefix}.{field}" if prefix else ""
        case _:
            return ""


def children(node: Node) -> list[Node]:
    """Returns the direct children of a node."""
    match node:
        case Literal() | Ident():
            return []
        case Select(operand=operand):
            return [operand]
        case Call(target=target, arguments=arguments):
            return [*([target] if target is not None else []), *arguments]
        case ListNode(elements=elements):
            return elements
        case MapNode(entries=entries) | StructNode(entries=entries):
            return [part for entry in entries for part in _parts(entry)]
        case Fold():
            return [node.range, node.initial, node.condition, node.step, node.result]


def _parts(entry: Entry) -> list[Node]:
    return [entry.value] if isinstance(entry.key, str) else [entry.key, entry.value]
