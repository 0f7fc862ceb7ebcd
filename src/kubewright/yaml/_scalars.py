"""Scalars as Kubernetes reads them (sigs.k8s.io/yaml): YAML 1.1 booleans, no dates, no base-60 numbers.

A number without a fraction is an integer, even if it is written as `1e3`. An integer beyond 64 bits is a float, or a
string if no float can hold it.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Final

from kubewright.yaml._errors import InvalidYAML

__all__ = ["MERGE", "Scalar", "plain_value", "tagged_value"]

Scalar = str | int | float | bool | None

MERGE: Final = "<<"

_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, Scalar]] = {
    **{form: True for word in ("y", "yes", "true", "on") for form in (word, word.title(), word.upper())},
    **{form: False for word in ("n", "no", "false", "off") for form in (word, word.title(), word.upper())},
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMERIC: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(r"[-+]?(?:0[bB][01]+|0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_EXACT: Final = 2**53
_LONGEST_INTEGER: Final = 70
"""Characters: 64 binary digits with sign and prefix are shorter."""


def plain_value(text: str) -> Scalar:
    """Returns the value of a plain scalar: a boolean, null, a number, or the string itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    digits = text.replace("_", "") if text[0] != "." else text
    if len(digits) <= _LONGEST_INTEGER and _INTEGER.fullmatch(digits):
        number = _integer(digits)
        if number < 2**64:
            return number if -(2**63) <= number < 2**63 else float(number)
    if _FLOAT.fullmatch(digits) and math.isfinite(value := float(digits)):
        return int(value) if value.is_integer() and abs(value) < _EXACT else value
    return text


def tagged_value(tag: str, text: str, line: int) -> Scalar:
    """Returns the value of a scalar with an explicit tag. Raises `InvalidYAML` for a tag that JSON has no value for."""
    kind = tag.removeprefix(_TAG)
    if tag == "!" or kind in ("str", "timestamp", "value", "merge"):
        return text
    if kind == "binary":
        try:
            return base64.b64decode(text, validate=False).decode(errors="replace")
        except binascii.Error:
            raise InvalidYAML("!!binary is not base64", line, 1) from None
    value = plain_value(text)
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return value
    expected = {"bool": bool, "int": int, "float": float, "null": type(None)}.get(kind)
    if expected is None:
        raise InvalidYAML("a tag that JSON has no value for: remove the tag", line, 1)
    if type(value) is not expected:
        raise InvalidYAML(f"a value that is not a !!{kind}, as its tag says", line, 1)
    return value


def _integer(digits: str) -> int:
    plain = digits.lstrip("+-")
    is_octal = len(plain) > 1 and plain[0] == "0" and plain.isdigit()
    return int(digits, 8 if is_octal else 0)
