"""Functions of strings: CEL's own, and those of the strings extension."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from kubewright.api.cel._times import duration_text, timestamp_text
from kubewright.api.cel._values import EvaluationError, Uint, no_overload, type_of_value

__all__ = ["IMPLEMENTATIONS", "general"]

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.(?P<precision>\d+))?(?P<kind>.)?)", re.DOTALL)
_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_WHITE: Final = " \t\n\v\f\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def general(value: float) -> str:
    """Returns a double in Go's shortest form."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent and abs(value) < 1e21 and mantissa.endswith(".0"):
        return mantissa[:-2]
    if not exponent:
        return mantissa
    return (
        f"{mantissa.removesuffix('.0')}e{exponent[0] if exponent[0] in '+-' else '+'}{exponent.lstrip('+-').zfill(2)}"
    )


def _range_error(place: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {place}")


def _char_at(text: str, place: int) -> str:
    if not 0 <= place <= len(text):
        raise _range_error(place)
    return text[place : place + 1]


def _index_of(text: str, wanted: str, start: int = 0) -> int:
    if not wanted:
        return start
    if start < 0:
        raise _range_error(start)
    return text.find(wanted, start)


def _last_index_of(text: str, wanted: str, start: int | None = None) -> int:
    if not wanted:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(wanted)
    if start < 0:
        raise _range_error(start)
    return -1 if start >= len(text) else text.rfind(wanted, 0, start + len(wanted))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count if count >= 0 else -1)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        pieces = list(text)
        if 0 < count < len(pieces):
            pieces[count - 1 :] = ["".join(pieces[count - 1 :])]
        return pieces
    return text.split(separator, count - 1 if count > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for place in (start, last):
        if not 0 <= place <= len(text):
            raise _range_error(place)
    return text[start:last]


def _join(texts: list[Any], separator: str = "") -> str:
    for text in texts:
        if not isinstance(text, str):
            raise EvaluationError(f"join: invalid input: {text}")
    return separator.join(texts)


def _quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def _ascii(text: str, *, upper: bool) -> str:
    return "".join((each.upper() if upper else each.lower()) if each.isascii() else each for each in text)


# Formatting


def _format(template: str, values: list[Any]) -> str:
    used = 0

    def fill(clause: re.Match[str]) -> str:
        nonlocal used
        if clause[0] == "%%":
            return "%"
        if clause["kind"] is None:
            raise EvaluationError("unexpected end of string")
        if used >= len(values):
            raise EvaluationError(f"index {used} out of range")
        value = values[used]
        used += 1
        precision = None if clause["precision"] is None else int(clause["precision"])
        return _formatted(clause["kind"], precision, value)

    return _CLAUSE.sub(fill, template)


def _formatted(kind: str, precision: int | None, value: Any) -> str:
    type_ = type_of_value(value).name
    digits = 6 if precision is None else precision
    match kind:
        case "s":
            return _shown(value)
        case "d" if type_ in ("int", "uint"):
            return str(int(value))
        case "f" if type_ == "double" or value in ("NaN", "Infinity", "-Infinity"):
            return f"{float(value):,.{digits}f}"
        case "e" if type_ == "double" or value in ("NaN", "Infinity", "-Infinity"):
            return _scientific(float(value), digits)
        case "b" if type_ in ("int", "uint", "bool"):
            return f"{int(value):b}"
        case "x" | "X" if type_ in ("int", "uint"):
            return f"{int(value):{kind}}"
        case "x" | "X" if type_ in ("string", "bytes"):
            made = (value.encode() if isinstance(value, str) else value).hex()
            return made.upper() if kind == "X" else made
        case "o" if type_ in ("int", "uint"):
            return f"{int(value):o}"
        case "d" | "f" | "e" | "b" | "x" | "X" | "o":
            raise EvaluationError(f"{_CLAUSES[kind]}, was given {_long(type_)}")
        case _:
            raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{kind}"')


def _scientific(value: float, digits: int) -> str:
    """Returns a number as Go formats it for English: a power of ten with a raised exponent."""
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}{_TIMES}10{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}" if exponent else mantissa


_TIMES: Final = "\u00d7"
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_CLAUSES: Final = {
    "b": "only integers and bools can be formatted as binary",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}


def _long(name: str) -> str:
    names = {
        "null": "null_type",
        "timestamp": "google.protobuf.Timestamp",
        "duration": "google.protobuf.Duration",
    }
    return names.get(name, name)


def _shown(value: Any) -> str:
    match type_of_value(value).name:
        case "string":
            return str(value)
        case "bytes":
            return bytes(value).decode(errors="replace")
        case "null":
            return "null"
        case "bool":
            return "true" if value else "false"
        case "int" | "uint":
            return str(int(value))
        case "double":
            return general(value)
        case "duration":
            return duration_text(value)
        case "timestamp":
            return timestamp_text(value)
        case "type":
            return str(value.name)
        case "list":
            return f"[{', '.join(map(_literal, value))}]"
        case "map":
            return "{" + ", ".join(sorted(f"{_literal(key)}:{_literal(value[key])}" for key in value)) + "}"
        case name:
            clause = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
            raise EvaluationError(f"{clause}durations, and timestamps, was given {name}")


def _literal(value: Any) -> str:
    """Returns a value inside of a list or a map, as CEL writes it."""
    match type_of_value(value).name:
        case "string":
            return json.dumps(value, ensure_ascii=False)
        case "bytes":
            return "b" + json.dumps(bytes(value).decode(errors="replace"), ensure_ascii=False)
        case "double":
            return f"{value:.6f}"
        case "duration":
            return f'duration("{duration_text(value)}")'
        case "timestamp":
            return f'timestamp("{timestamp_text(value)}")'
        case _:
            return _shown(value)


def _for_strings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Checks arguments whose types were unknown to the checker."""

    def call(text: Any, *more: Any) -> Any:
        if not isinstance(text, str) or not all(
            isinstance(each, str | int) and not isinstance(each, bool | Uint) for each in more
        ):
            raise no_overload()
        return function(text, *more)

    return call


IMPLEMENTATIONS: Final[dict[str, Callable[..., Any]]] = {
    "contains": _for_strings(lambda text, part: part in text),
    "startsWith": _for_strings(str.startswith),
    "endsWith": _for_strings(str.endswith),
    "charAt": _for_strings(_char_at),
    "indexOf": _for_strings(_index_of),
    "lastIndexOf": _for_strings(_last_index_of),
    "lowerAscii": _for_strings(lambda text: _ascii(text, upper=False)),
    "upperAscii": _for_strings(lambda text: _ascii(text, upper=True)),
    "replace": _for_strings(_replace),
    "split": _for_strings(_split),
    "substring": _for_strings(_substring),
    "trim": _for_strings(str.strip),
    "format": _format,
    "strings.quote": _for_strings(_quote),
    "join": _join,
}
