"""Decodes JSON the way the real server does, to a depth that Python can traverse.

Go replaces invalid UTF-8 with U+FFFD. Objects without Go types (custom resources) have 64-bit integers; larger ones are
rounded to floats. The real server decodes 10,000 levels, this one `MAX_DEPTH`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

import msgspec

from kubewright.cluster.machinery._json_syntax import syntax_problem
from kubewright.yaml import MAX_DEPTH

__all__ = ["UnreadableJSON", "UnreadableNumber", "check_depth", "copied", "decode_json", "rounded"]

_decoder: Final = msgspec.json.Decoder()
_LONG_INTEGER: Final = re.compile(rb"[0-9]{19}")
_OUT_OF_RANGE: Final = "out of range"  # how msgspec names a number that Python cannot decode


class UnreadableJSON(ValueError):
    """The body is not JSON, or nested too deeply. The message is the problem alone."""


class UnreadableNumber(UnreadableJSON):
    """The body has a number that Go cannot decode."""


def decode_json(body: bytes, *, untyped: bool = False) -> Any:
    """Returns the value of the body. `untyped` rounds integers beyond 64 bits to floats, as Go does without types.

    Raises `UnreadableJSON`.
    """
    try:
        try:
            value = _decoder.decode(body)
        except UnicodeDecodeError:
            value = _decoder.decode(body.decode(errors="replace").encode())
    except msgspec.DecodeError as error:
        if _OUT_OF_RANGE in str(error):
            raise UnreadableNumber("json: cannot unmarshal number into Go value of type float64") from None
        raise UnreadableJSON(syntax_problem(body) or str(error)) from None
    except RecursionError:
        raise _too_deep() from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        check_depth(value)
    return rounded(value) if untyped and _LONG_INTEGER.search(body) else value


def copied(value: Any) -> Any:
    """Returns a copy of a JSON value, in a fraction of the time of `deepcopy`. Raises `RecursionError`."""
    if isinstance(value, dict):
        return {name: copied(member) for name, member in value.items()}
    if isinstance(value, list):
        return [copied(member) for member in value]
    return value


def check_depth(value: Any) -> None:
    """Raises `UnreadableJSON` if the value is nested more than `MAX_DEPTH` levels deep."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            member
            for node in level
            if isinstance(node, dict | list)
            for member in (node.values() if isinstance(node, dict) else node)
            if isinstance(member, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> UnreadableJSON:
    return UnreadableJSON(f"exceeded max depth of {MAX_DEPTH}")


def rounded(value: Any) -> Any:
    """Returns the value with all numbers beyond 64 bits as Go writes a float64: below 1e21 without an exponent.

    Raises `UnreadableNumber` for an integer that no float can hold.
    """
    if isinstance(value, dict):
        return {name: rounded(member) for name, member in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, int | float) and not -(2**63) <= value < 2**63:
        try:
            number = float(value)
        except OverflowError:
            raise UnreadableNumber(f"json: cannot unmarshal number {value} into Go value of type float64") from None
        return int(Decimal(repr(number))) if abs(number) < 1e21 else number
    return value
