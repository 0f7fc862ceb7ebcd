"""The messages of the real server for selectors that cannot be parsed."""

from __future__ import annotations

import re
from typing import Final

from kubewright.cluster.machinery._field_errors import invalid
from kubewright.names import label_value_problems, qualified_name_problems

__all__ = ["field_selector_problem", "label_selector_problem"]

_IDENTIFIER: Final = "identifier"
_END: Final = ""
_OPERATORS: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
_SYMBOLS: Final = {"=": "=", "==": "=", "!=": "=", ">": ">", "<": ">", "in": "in", "notin": "in"}
_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),><]|[^ \t\r\n=!(),><]+)?")
_ESCAPED: Final = re.compile(r"\\(.?)|([=,])", re.DOTALL)


class _Problem(ValueError):
    """The selector is invalid."""


def label_selector_problem(text: str) -> str:
    """Returns why a label selector is invalid; empty if the real server accepts it."""
    try:
        _Labels(text).parse()
    except _Problem as problem:
        return str(problem)
    return ""


def field_selector_problem(text: str) -> str:
    """Returns why the values of a field selector are invalid; empty if the real server accepts them."""
    for term in re.split(r"(?<!\\),", text):
        value = re.split(r"!=|==|=", term, maxsplit=1)[-1]
        for found in _ESCAPED.finditer(value):
            if found[2]:
                return f"invalid field selector: unescaped character in value: {ord(found[2])}"
            if found[1] not in ("\\", ",", "="):
                return f"invalid field selector: invalid escape sequence: \\{found[1]}"
    return ""


class _Labels:
    """A parser with the rules and messages of `labels.Parse`."""

    def __init__(self, text: str) -> None:
        self._tokens = [found[1] for found in _TOKEN.finditer(text) if found[1]]
        self._at = 0

    def parse(self) -> None:
        """Raises `_Problem` for an invalid selector."""
        while self._peek() != _END:
            if self._kind() not in (_IDENTIFIER, "!"):
                raise _Problem(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
            try:
                self._requirement()
            except _Problem as problem:
                raise _Problem(f"unable to parse requirement: {problem}") from None
            found = self._take()
            if found == _END:
                return
            if found != ",":
                raise _Problem(f"found '{found}', expected: ',' or 'end of string'")
            if self._kind() not in (_IDENTIFIER, "!"):
                raise _Problem(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> None:
        absent = self._peek() == "!"
        if absent:
            self._take()
        kind, key = self._kind(), self._take()
        if kind != _IDENTIFIER:
            raise _Problem(f"found '{key}', expected: identifier")
        _check(key, qualified_name_problems(key), "<nil>")
        if absent or self._peek() in (_END, ","):
            return
        operator = self._take()
        if operator not in _SYMBOLS:
            raise _Problem(f"found '{operator}', expected: {', '.join(_OPERATORS)}")
        values = self._values() if _SYMBOLS[operator] == "in" else [self._value()]
        for index, value in enumerate(values):
            if operator in "<>" and not re.fullmatch(r"[+-]?[0-9]{1,19}", value):
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                raise _Problem(str(invalid(f"values[{index}]", value, detail)))
            _check(value, label_value_problems(value), f"values[{index}][{key}]")

    def _value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        kind, value = self._kind(), self._take()
        if kind != _IDENTIFIER:
            raise _Problem(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> list[str]:
        if (found := self._take()) != "(":
            raise _Problem(f"found '{found}' expected: '('")
        if self._peek() == ")":
            self._take()
            return [""]
        if self._kind() not in (_IDENTIFIER, ","):
            raise _Problem(f"found '{self._peek()}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            kind, found = self._kind(), self._take()
            if kind == _IDENTIFIER:
                values.add(found)
                if self._peek() not in (",", ")"):
                    raise _Problem(f"found '{self._peek()}', expected: ',' or ')'")
            elif found == ",":
                if not values or self._peek() in (",", ")"):
                    values.add("")
            else:
                raise _Problem(f"found '{found}', expected: ',', or identifier")
            if self._peek() == ")":
                self._take()
                return sorted(values)

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _kind(self) -> str:
        """Returns the next symbol, or that an identifier follows: `in` and `notin` may be keys and values."""
        found = self._peek()
        return found if found == _END or found[0] in "=!(),><" else _IDENTIFIER

    def _take(self) -> str:
        found = self._peek()
        self._at += 1
        return found


def _check(value: str, problems: list[str], path: str) -> None:
    if problems:
        raise _Problem(str(invalid(path, value, "; ".join(problems))))
