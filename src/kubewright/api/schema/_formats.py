"""The string formats that the API server checks."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from typing import Final

from kubewright.api._time import parse_time

__all__ = ["fits_format", "is_format"]


def fits_format(name: str, text: str) -> bool:
    """Whether the string has the format. True for formats without a check, such as `password`."""
    check = _CHECKS.get(name)
    return check is None or check(text)


def is_format(name: str) -> bool:
    """Whether the server knows the string format; it ignores others."""
    return name in _CHECKS or name == "password"


def _matches(pattern: str) -> Callable[[str], bool]:
    # `re` compiles it on first use and caches it: most kinds have none of these formats.
    return lambda text: re.fullmatch(pattern, text, re.ASCII | re.IGNORECASE) is not None


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum(position * (10 if digit == "X" else int(digit)) for position, digit in enumerate(digits, 1)) % 11 == 0


def _isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum((1, 3)[position % 2] * int(digit) for position, digit in enumerate(digits)) % 10 == 0


def _credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]", "", text)
    issuers = (
        r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}"
        r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
    )
    if not re.fullmatch(issuers, digits):
        return False
    doubled = [int(digit) * (1 + position % 2) for position, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _uri(text: str) -> bool:
    return re.fullmatch(r"(?:[a-z][a-z0-9+.-]*:[^\s#]+|/[^\s]*)", text, re.IGNORECASE) is not None


def _hostname(text: str) -> bool:
    labels = text.split(".")
    if len(text) > 255 or not all(0 < len(label) <= 63 for label in labels):
        return False
    if not all(re.fullmatch(r"[^\W_](?:[\w-]*[^\W_])?", label) and "_" not in label for label in labels):
        return False
    return len(labels) == 1 or re.fullmatch(r"[^\W\d_]{2,63}", labels[-1]) is not None


def _cidr(text: str) -> None:
    if "/" not in text:
        raise ValueError("no prefix")
    ipaddress.ip_interface(text)


def _short_name(text: str) -> bool:
    return len(text) <= 63 and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", text) is not None


def _long_name(text: str) -> bool:
    return len(text) <= 253 and all(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", part) for part in text.split("."))


def _uuid(version: str = "", variant: str = "") -> Callable[[str], bool]:
    third = f"{version}[0-9a-f]{{3}}" if version else "[0-9a-f]{4}"
    fourth = f"{variant}[0-9a-f]{{3}}" if variant else "[0-9a-f]{4}"
    return _matches(f"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}")


_GO_DURATION = r"[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
_WORDY_DURATION = r".*[0-9]+\s*(?:ns|us|µs|ms|s|m|h|d|w|wk|hr|nano|micro|milli|sec|min|hour|day|week).*"

_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches(r"[0-9a-f]{24}"),
    "uri": _uri,
    "email": _matches(r"(?:[^<>@]*<)?[^\s@<>]+@[^\s@<>]+>?"),
    "hostname": _hostname,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _parses(_cidr),
    "mac": _matches(r"(?:[0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}"),
    "uuid": _uuid(),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _isbn10(text) or _isbn13(text),
    "isbn10": _isbn10,
    "isbn13": _isbn13,
    "creditcard": _credit_card,
    "ssn": _matches(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _matches(r"#?(?:[0-9a-f]{3}|[0-9a-f]{6})"),
    "rgbcolor": _matches(r"rgb\((?:\s*(?:[0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5])\s*(?:,(?!\))|(?=\)))){3}\)"),
    "byte": _matches(r"(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=|[a-z0-9+/]{4})"),
    "date": lambda text: len(text) == 10 and _parses(date.fromisoformat)(text),
    "date-time": _parses(parse_time),
    "duration": _matches(f"{_GO_DURATION}|{_WORDY_DURATION}"),
    "k8s-short-name": _short_name,
    "k8s-long-name": _long_name,
}
