"""Parses expressions with `cel-expr-python` (the extra `test`).

That is Google's parser in C++, with the same grammar as the API server's, so its syntax errors are those of the server.
It returns the tree in protobuf's wire format, which this module decodes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from kubewright.api.cel._issues import CompileError, marked
from kubewright.api.cel._nodes import (
    Call,
    Entry,
    Fold,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
    Syntax,
    children,
)
from kubewright.api.cel._values import Uint

__all__ = ["ExtraMissing", "parse"]

_CONFIG: Final = "name: kubewright\nextensions:\n" + "".join(
    f"  - name: {name}\n" for name in ("optional", "two-var-comprehensions", "lists")
)
_PREFIX: Final = "INVALID_ARGUMENT: "
_SUFFIX: Final = " [INVALID_ARGUMENT]"
_OTHER_WORDS: Final = {"has() argument must be a field selection": "invalid argument to has() macro"}
"""The server's wording for messages of the parser."""


class ExtraMissing(ImportError):
    """CEL is required, but its library is not installed."""

    def __init__(self) -> None:
        super().__init__("CEL needs the packages cel-expr-python and google-re2: pip install 'kubewright[test]'")


@cache
def _environment() -> Any:
    try:
        from cel_expr_python import cel  # type: ignore[import-untyped]
    except ImportError:
        raise ExtraMissing from None
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_CONFIG))


def parse(text: str) -> Syntax:
    """Returns the tree of an expression. Raises `CompileError` for an invalid one."""
    environment = _environment()
    if "\0" in text:  # the library would stop reading there
        raise CompileError(marked(text, text.index("\0"), "Syntax error: token recognition error at: '\0'"))
    try:
        serialized = environment.compile(text, disable_check=True).serialize()
    except TypeError:  # a lone surrogate
        raise CompileError("the expression is not valid UTF-8") from None
    except RuntimeError as error:
        message = str(error).removeprefix(_PREFIX).removesuffix(_SUFFIX)
        for ours, theirs in _OTHER_WORDS.items():
            message = message.replace(ours, theirs)
        if not text:
            message = message.replace("<input>:1:1:", "<input>:1:0:")  # the server's parser counts from the line's end
        raise CompileError(message) from None
    parsed = _Message(_Message(serialized).bytes(2))
    syntax = Syntax(text, _node(_Message(parsed.bytes(2))), dict(_offsets(_Message(parsed.bytes(3)))))
    _refuse_quoted_names(syntax)
    _mark_structs_at_their_braces(syntax, syntax.root)
    return syntax


def _mark_structs_at_their_braces(syntax: Syntax, node: Node) -> None:
    """Moves offsets to the brace, where the server's errors point. The library's point to the name."""
    if isinstance(node, StructNode) and node.id in syntax.offsets:
        syntax.offsets[node.id] = max(syntax.text.find("{", syntax.offsets[node.id]), 0)
    for child in children(node):
        _mark_structs_at_their_braces(syntax, child)


def _refuse_quoted_names(syntax: Syntax) -> None:
    """Raises `CompileError` for a quoted name, which the server's grammar does not allow."""
    place = _outside_of_texts(syntax.text, "`")
    if place >= 0:
        raise CompileError(marked(syntax.text, place, "unsupported syntax '`'"))


def _outside_of_texts(text: str, wanted: str) -> int:
    quote = ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[place - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        elif character == wanted:
            return place
    return -1


# The tree, as cel.expr.ParsedExpr numbers its fields


def _node(message: _Message) -> Node:
    id_ = message.integer(2)
    match message.first(3, 4, 5, 6, 7, 8, 9):
        case 3, body:
            return Literal(id_, _constant(_Message(body)))
        case 4, body:
            return Ident(id_, _Message(body).text(1))
        case 5, body:
            inner = _Message(body)
            return Select(id_, _node(_Message(inner.bytes(1))), inner.text(2), bool(inner.integer(3)))
        case 6, body:
            inner = _Message(body)
            target = _node(_Message(inner.bytes(1))) if inner.has(1) else None
            return Call(id_, inner.text(2), target, [_node(_Message(each)) for each in inner.all(3)])
        case 7, body:
            inner = _Message(body)
            optional = frozenset(number for packed in inner.all(2) for number in _varints(packed))
            return ListNode(id_, [_node(_Message(each)) for each in inner.all(1)], optional)
        case 8, body:
            inner = _Message(body)
            entries = [_entry(_Message(each)) for each in inner.all(2)]
            return StructNode(id_, inner.text(1), entries) if inner.has(1) else MapNode(id_, entries)
        case 9, body:
            inner = _Message(body)
            parts = [_node(_Message(inner.bytes(number))) for number in (2, 4, 5, 6, 7)]
            over, initial, condition, step, result = parts
            return Fold(id_, inner.text(1), inner.text(8), over, inner.text(3), initial, condition, step, result)
    raise CompileError(f"the parser left an expression empty (node {id_})")


def _entry(message: _Message) -> Entry:
    key = _node(_Message(message.bytes(3))) if message.has(3) else message.text(2)
    return Entry(message.integer(1), key, _node(_Message(message.bytes(4))), bool(message.integer(5)))


def _constant(message: _Message) -> Any:
    match message.first(1, 2, 3, 4, 5, 6, 7):
        case 2, value:
            return bool(value)
        case 3, value:
            return value - 2**64 if value >= 2**63 else value
        case 4, value:
            return Uint(value)
        case 5, value:
            return struct.unpack("<d", value)[0]
        case 6, value:
            return value.decode()
        case 7, value:
            return value
    return None


def _offsets(message: _Message) -> Iterator[tuple[int, int]]:
    for each in message.all(4):
        entry = _Message(each)
        yield entry.integer(1), entry.integer(2)


class _Message:
    """The fields of one message, by number."""

    def __init__(self, body: bytes) -> None:
        self._fields: dict[int, list[Any]] = {}
        at = 0
        while at < len(body):
            value: Any
            key, at = _varint(body, at)
            if key & 7 == 0:
                value, at = _varint(body, at)
            else:
                size, at = (8, at) if key & 7 == 1 else _varint(body, at)
                value, at = body[at : at + size], at + size
            self._fields.setdefault(key >> 3, []).append(value)

    def has(self, number: int) -> bool:
        return number in self._fields

    def all(self, number: int) -> list[Any]:
        return self._fields.get(number, [])

    def bytes(self, number: int) -> bytes:
        return self._fields[number][0] if number in self._fields else b""

    def text(self, number: int) -> str:
        return self.bytes(number).decode()

    def integer(self, number: int) -> int:
        return self._fields[number][0] if number in self._fields else 0

    def first(self, *numbers: int) -> tuple[int, Any]:
        """Returns which of several fields is set, and its value."""
        return next(((number, self._fields[number][0]) for number in numbers if number in self._fields), (0, None))


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _varints(packed: Any) -> Iterator[int]:
    if isinstance(packed, int):
        yield packed
        return
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value
