"""From text to a program: parsed, checked, and its constants looked at."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kubewright.api.cel._checker import Checked, Environment, check
from kubewright.api.cel._interpreter import Program
from kubewright.api.cel._issues import Issues
from kubewright.api.cel._nodes import Call, Entry, Fold, Ident, ListNode, Literal, MapNode, Node, Select, StructNode
from kubewright.api.cel._regexes import problem_of
from kubewright.api.cel._syntax import parse
from kubewright.api.cel._times import parse_duration, parse_timestamp
from kubewright.api.cel._values import EvaluationError

__all__ = ["compile_expression"]

_parse = lru_cache(maxsize=2048)(parse)  # the tree of a text does not depend on anything else


def compile_expression(text: str, environment: Environment) -> Program:
    """A program for an expression in that environment. Raises `CompileError` with the server's words."""
    checked = check(_parse(text), environment)
    _check_constants(checked)
    return Program(checked)


def _check_constants(checked: Checked) -> None:
    """Durations, times and patterns that are written out must be some."""
    issues = Issues(checked.syntax)
    for node in _nodes(checked.syntax.root):
        if not isinstance(node, Call) or not node.arguments:
            continue
        argument = node.arguments[-1]
        if (
            isinstance(argument, Literal)
            and isinstance(argument.value, str)
            and not _fits(node.function, argument.value)
        ):
            issues.add(argument.id, f"invalid {node.function} argument")
    issues.raise_if_any()


def _fits(function: str, text: str) -> bool:
    match function:
        case "duration":
            return parse_duration(text) is not None
        case "timestamp":
            try:
                return parse_timestamp(text) is not None
            except EvaluationError:
                return False
        case "matches":
            return not problem_of(text)
        case _:
            return True


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in _children(node):
        yield from _nodes(child)


def _children(node: Node) -> list[Node]:
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
