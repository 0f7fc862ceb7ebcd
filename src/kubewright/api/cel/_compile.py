"""Compiles an expression: parses it, checks its types, and checks its constants."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kubewright.api.cel._checker import Checked, Environment, check
from kubewright.api.cel._interpreter import Program
from kubewright.api.cel._issues import Issues
from kubewright.api.cel._nodes import Call, ListNode, Literal, MapNode, Node, children
from kubewright.api.cel._regexes import problem_of
from kubewright.api.cel._syntax import parse
from kubewright.api.cel._times import parse_duration, parse_timestamp
from kubewright.api.cel._types import Type
from kubewright.api.cel._values import EvaluationError

__all__ = ["compile_expression"]

_parse = lru_cache(maxsize=2048)(parse)  # parsing depends on the text only


def compile_expression(text: str, environment: Environment) -> Program:
    """Returns the program of an expression. Raises `CompileError` with the server's message."""
    checked = check(_parse(text), environment)
    issues = Issues(checked.syntax)
    _check_constants(checked, issues)
    _check_literals(checked, checked.syntax.root, issues)
    issues.raise_if_any()
    return Program(checked)


def _check_literals(checked: Checked, node: Node, issues: Issues) -> None:
    """Reports lists and maps with elements of different types, except in the arguments of `format`."""
    match node:
        case Call(function="format"):
            return
        case ListNode(elements=elements):
            found = [(element.id, checked.types[element.id], place) for place, element in enumerate(elements)]
            _check_same([(id_, type_.unwrapped if at in node.optional else type_) for id_, type_, at in found], issues)
        case MapNode(entries=entries):
            keys = [entry.key for entry in entries if not isinstance(entry.key, str)]
            _check_same([(key.id, checked.types[key.id]) for key in keys], issues)
            _check_same(
                [
                    (entry.value.id, found.unwrapped if entry.is_optional else found)
                    for entry in entries
                    for found in [checked.types[entry.value.id]]
                ],
                issues,
            )
    for child in children(node):
        _check_literals(checked, child, issues)


def _check_same(found: list[tuple[int, Type]], issues: Issues) -> None:
    for id_, type_ in found[1:]:
        if type_ != found[0][1]:
            issues.add(id_, f"expected type '{found[0][1]}' but found '{type_}'")
            return


def _check_constants(checked: Checked, issues: Issues) -> None:
    """Reports constants that are invalid durations, times or patterns."""
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
    for child in children(node):
        yield from _nodes(child)
