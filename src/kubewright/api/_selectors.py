"""Label selectors: `app=web,tier in (front,back),!canary,priority>5`.

`Selector` is the label selector of list, watch and delete requests, and the meaning of a `LabelSelector` in an object.
The grammar, the order of requirements and their meaning are apimachinery's:

- `key=value`, `key==value`, `key!=value`: equal or not. A missing label is not equal to anything.
- `key in (a,b)`, `key notin (a,b)`: one of, none of. A missing label is in no set.
- `key`, `!key`: the label exists, or does not.
- `key>5`, `key<5`: the label is an integer above or below.
- Requirements are joined by commas, and all of them must hold. A selector without requirements selects everything.

The selector that selects nothing is the contradiction `nothing,!nothing`, so that it also selects nothing on a server.
(Go's selector for nothing is an empty string, which selects everything.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, Self

import msgspec

from kubewright.api._labels import check_label_key, check_label_value

if TYPE_CHECKING:
    from kubewright.api.meta.v1 import LabelSelector

__all__ = ["Requirement", "Selector", "SelectorError", "SelectorOperator"]


class SelectorError(ValueError):
    """An invalid selector. `position` is the index in the string; None if it was not created from a string."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class SelectorOperator(Enum):
    """How a requirement relates a label's value to its own values."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


# Tuples compare by identity first; the hash of an enum is a Python call, and `matches` runs once per object.
_SETS: Final = (SelectorOperator.IN, SelectorOperator.NOT_IN)
_EXISTENCE: Final = (SelectorOperator.EXISTS, SelectorOperator.DOES_NOT_EXIST)
_ORDER: Final = (SelectorOperator.GREATER_THAN, SelectorOperator.LESS_THAN)
_POSITIVE: Final = (SelectorOperator.EQUALS, SelectorOperator.IN, SelectorOperator.DOUBLE_EQUALS)


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label. Values are sorted and unique. Raises SelectorError for an invalid requirement."""

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "values", tuple(sorted(set(self.values))))
        try:
            check_label_key(self.key)
            for value in self.values:
                check_label_value(value)
        except ValueError as error:
            raise SelectorError(str(error)) from None
        self._check_values()

    def _check_values(self) -> None:
        operator, count = self.operator, len(self.values)
        if operator in _SETS and not count:
            raise SelectorError(f"label {self.key!r}: '{operator.value}' needs at least one value")
        if operator in _EXISTENCE and count:
            raise SelectorError(f"label {self.key!r}: '{operator.value}' takes no values")
        if operator not in _SETS and operator not in _EXISTENCE and count != 1:
            raise SelectorError(f"label {self.key!r}: '{operator.value}' needs exactly one value, not {count}")
        if operator in _ORDER and _integer(self.values[0]) is None:
            raise SelectorError(
                f"label {self.key!r}: '{operator.value}' needs a 64-bit integer to compare with, not {self.values[0]!r}"
            )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet the requirement."""
        operator, value = self.operator, labels.get(self.key)
        if operator in _POSITIVE:
            return value in self.values
        if operator is SelectorOperator.EXISTS:
            return value is not None
        if operator is SelectorOperator.DOES_NOT_EXIST:
            return value is None
        if operator in _ORDER:
            number, limit = None if value is None else _integer(value), _integer(self.values[0])
            if number is None or limit is None:
                return False
            return number > limit if operator is SelectorOperator.GREATER_THAN else number < limit
        return value not in self.values

    def __str__(self) -> str:
        operator = self.operator
        if operator is SelectorOperator.EXISTS:
            return self.key
        if operator is SelectorOperator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if operator in _SETS:
            return f"{self.key} {operator.value} ({','.join(self.values)})"
        return f"{self.key}{operator.value}{self.values[0]}"


class Selector(msgspec.Struct, frozen=True):
    """A label selector: requirements that must all hold, ordered by key. Immutable and hashable.

    `str` returns the form that the API server accepts; `Selector.parse` turns it into an equal selector.
    """

    requirements: tuple[Requirement, ...] = ()

    def __post_init__(self) -> None:
        ordered = sorted(self.requirements, key=lambda requirement: requirement.key)
        msgspec.structs.force_setattr(self, "requirements", tuple(ordered))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a selector. Raises SelectorError with the position and what was expected."""
        return cls(tuple(_Parser(text).requirements()))

    @classmethod
    def everything(cls) -> Self:
        """Returns the selector that matches all labels; the same as `Selector()`."""
        return cls()

    @classmethod
    def nothing(cls) -> Self:
        """Returns a selector that matches no labels, here and on the server."""
        return cls(
            (Requirement("nothing", SelectorOperator.EXISTS), Requirement("nothing", SelectorOperator.DOES_NOT_EXIST))
        )

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Self:
        """Returns the selector for objects that have all these labels."""
        return cls(tuple(Requirement(key, SelectorOperator.EQUALS, (value,)) for key, value in labels.items()))

    @classmethod
    def from_label_selector(cls, selector: LabelSelector | None) -> Self:
        """Returns the selector of a `LabelSelector` in an object: None selects nothing, an empty one everything.

        Raises SelectorError, which names the expression.
        """
        if selector is None:
            return cls.nothing()
        requirements = list(cls.from_labels(selector.match_labels or {}).requirements)
        for index, expression in enumerate(selector.match_expressions or ()):
            operator = _EXPRESSION_OPERATORS.get(expression.operator)
            if operator is None:
                raise SelectorError(
                    f"matchExpressions[{index}]: the operator is {expression.operator!r}, "
                    f"expected one of {', '.join(_EXPRESSION_OPERATORS)}"
                )
            try:
                requirements.append(Requirement(expression.key, operator, tuple(expression.values or ())))
            except SelectorError as error:
                raise SelectorError(f"matchExpressions[{index}]: {error}") from None
        return cls(tuple(requirements))

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether the labels meet every requirement. None is the same as no labels."""
        present = labels or {}
        return all(requirement.matches(present) for requirement in self.requirements)

    @property
    def selects_everything(self) -> bool:
        """Whether the selector has no requirements."""
        return not self.requirements

    def __and__(self, other: Selector) -> Selector:
        if not isinstance(other, Selector):
            return NotImplemented
        return Selector(self.requirements + other.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_EXPRESSION_OPERATORS: Final = {
    "In": SelectorOperator.IN,
    "NotIn": SelectorOperator.NOT_IN,
    "Exists": SelectorOperator.EXISTS,
    "DoesNotExist": SelectorOperator.DOES_NOT_EXIST,
}

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,100}", re.ASCII)


def _integer(text: str) -> int | None:
    """Returns the integer, if the server reads the string as one."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:(?P<symbol>!=|==|[=!(),<>])|(?P<word>[^=!(),<> \t\r\n]+)|(?P<end>$))")
_BINARY_OPERATORS: Final = {
    operator.value: operator
    for operator in SelectorOperator
    if operator not in _EXISTENCE  # they are not written between a key and a value
}


class _Parser:
    """A recursive-descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._advance(0)

    def _advance(self, offset: int) -> None:
        match = _TOKEN.match(self._text, offset)
        assert match is not None  # every character is a symbol, white space or part of a word
        kind = str(match.lastgroup)
        self._current, self._is_word, self._at_end = match[kind], kind == "word", kind == "end"
        self._position, self._next = match.start(kind), match.end()

    def _take(self) -> str:
        current = self._current
        self._advance(self._next)
        return current

    def _take_word(self) -> str:
        """Returns the current word, or an empty one: an empty value is valid."""
        return self._take() if self._is_word else ""

    def _fail(self, expected: str) -> SelectorError:
        found = "the end" if self._at_end else f"'{self._current}'"
        return self._error(f"expected {expected} at position {self._position}, found {found}", self._position)

    def _error(self, problem: str, position: int) -> SelectorError:
        return SelectorError(f"label selector {self._text!r}: {problem}", position)

    def requirements(self) -> Iterable[Requirement]:
        if self._at_end:
            return
        yield self._requirement()
        while self._current == ",":
            self._take()
            yield self._requirement()
        if not self._at_end:
            raise self._fail("',' or the end")

    def _requirement(self) -> Requirement:
        absent = self._current == "!"
        if absent:
            self._take()
        start = self._position
        if not self._is_word:
            raise self._fail("a label key" if absent else "a label key or '!'")
        key, values = self._take(), list[str]()
        if absent:
            operator = SelectorOperator.DOES_NOT_EXIST
        elif self._at_end or self._current == ",":
            operator = SelectorOperator.EXISTS
        elif self._current in _BINARY_OPERATORS:
            operator = _BINARY_OPERATORS[self._take()]
            values = self._set() if operator in _SETS else [self._value()]
        else:
            raise self._fail("one of = == != in notin > < or ','")
        try:
            return Requirement(key, operator, tuple(values))
        except SelectorError as error:
            raise self._error(f"{error} (at position {start})", start) from None

    def _value(self) -> str:
        if not (self._is_word or self._at_end or self._current == ","):
            raise self._fail("a value")
        return self._take_word()

    def _set(self) -> list[str]:
        if self._current != "(":
            raise self._fail("'('")
        self._take()
        values = [self._take_word()]
        while self._current == ",":
            self._take()
            values.append(self._take_word())
        if self._current != ")":
            raise self._fail("',' or ')'" if values[-1] else "a value, ',' or ')'")
        self._take()
        return values
