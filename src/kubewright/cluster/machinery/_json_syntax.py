"""The message of Go's JSON decoder for a body that is not JSON."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["syntax_problem"]

_END: Final = "unexpected end of JSON input"
_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS: Final = re.compile(rb"[0-9]*")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_NAMES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 39: "\\'", 92: "\\\\"}


class _Problem(ValueError):
    """The scan ends here."""


def syntax_problem(body: bytes) -> str:
    """Returns why a body is not JSON, in Go's words; empty if Go would accept its syntax. Takes linear time."""
    try:
        _Scan(body).document()
    except _Problem as problem:
        return str(problem)
    return ""


class _Scan:
    """Reads a body from the left, without recursion: `_open` has the brackets that are open."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0
        self._open: list[int] = []

    def document(self) -> None:
        """Reads one value and the spaces after it."""
        while True:
            if self._value():
                continue
            while self._open:
                if self._after_value():
                    break
            else:
                break
        self._skip(_SPACE)
        if self._at < len(self._body):
            raise self._unexpected("after top-level value")

    def _value(self) -> bool:
        """Reads a value. Returns whether another one must follow, because a bracket was opened."""
        self._skip(_SPACE)
        first = self._peek()
        if first in b"{[":
            self._at += 1
            self._open.append(first)
            self._skip(_SPACE)
            if self._peek() == (ord("}") if first == ord("{") else ord("]")):
                self._open.pop()
                self._at += 1
                return False
            if first == ord("{"):
                self._key()
            return True
        if first == ord('"'):
            self._string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        elif first == ord("-") or ord("0") <= first <= ord("9"):
            self._number()
        else:
            raise self._unexpected("looking for beginning of value")
        return False

    def _after_value(self) -> bool:
        """Reads what follows a value inside brackets. Returns whether another value follows."""
        self._skip(_SPACE)
        inside = self._open[-1]
        found = self._peek()
        if found == ord(","):
            self._at += 1
            if inside == ord("{"):
                self._skip(_SPACE)
                self._key()
            return True
        if found != (ord("}") if inside == ord("{") else ord("]")):
            raise self._unexpected("after object key:value pair" if inside == ord("{") else "after array element")
        self._open.pop()
        self._at += 1
        return False

    def _key(self) -> None:
        if self._peek() != ord('"'):
            raise self._unexpected("looking for beginning of object key string")
        self._string()
        self._skip(_SPACE)
        if self._peek() != ord(":"):
            raise self._unexpected("after object key")
        self._at += 1

    def _string(self) -> None:
        self._at += 1
        while True:
            self._skip(_PLAIN)
            found = self._peek()
            if found < 0x20:
                raise self._unexpected("in string literal")
            self._at += 1
            if found == ord('"'):
                return
            if self._starts(b"u"):
                self._at += 1
                for _ in range(4):
                    self._expect(_HEX, "in \\u hexadecimal character escape")
            else:
                self._expect(b'bfnrt\\/"', "in string escape code")

    def _literal(self, word: bytes) -> None:
        for expected in word:
            self._expect(bytes([expected]), f"in literal {word.decode()} (expecting {chr(expected)!r})")

    def _number(self) -> None:
        if self._peek() == ord("-"):
            self._at += 1
        first = self._at
        self._expect(b"0123456789", "in numeric literal")
        if self._body[first] != ord("0"):
            self._skip(_DIGITS)
        if self._starts(b"."):
            self._at += 1
            self._expect(b"0123456789", "after decimal point in numeric literal")
            self._skip(_DIGITS)
        if self._starts(b"eE"):
            self._at += 1
            if self._starts(b"+-"):
                self._at += 1
            self._expect(b"0123456789", "in exponent of numeric literal")
            self._skip(_DIGITS)

    def _starts(self, wanted: bytes) -> bool:
        return self._at < len(self._body) and self._body[self._at] in wanted

    def _expect(self, wanted: bytes | frozenset[int], where: str) -> None:
        if self._at >= len(self._body):  # Go's scanner reads a space at the end
            raise _Problem(f"invalid character ' ' {where}")
        if self._body[self._at] not in wanted:
            raise self._unexpected(where)
        self._at += 1

    def _peek(self) -> int:
        if self._at >= len(self._body):
            raise _Problem(_END)
        return self._body[self._at]

    def _skip(self, pattern: re.Pattern[bytes]) -> None:
        found = pattern.match(self._body, self._at)
        assert found is not None  # every pattern matches the empty string
        self._at = found.end()

    def _unexpected(self, where: str) -> _Problem:
        return _Problem(f"invalid character {_quoted(self._body[self._at])} {where}")


def _quoted(byte: int) -> str:
    if byte in _NAMES:
        return f"'{_NAMES[byte]}'"
    if byte < 0x20 or byte == 0x7F:
        return f"'\\x{byte:02x}'"
    if 0x80 <= byte < 0xA0 or byte == 0xAD:  # not printable
        return f"'\\u{byte:04x}'"
    return "'\\u00a0'" if byte == 0xA0 else f"'{chr(byte)}'"
