"""Values of Kubernetes' own types: addresses, networks, URLs, quantities, versions, formats.

Errors about invalid strings have Go's messages, as on the API server.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from kubewright import names
from kubewright.api._quantity import Quantity
from kubewright.api.cel import _types as types
from kubewright.api.cel._types import Type
from kubewright.api.cel._values import EvaluationError, Opaque
from kubewright.api.schema._formats import fits_format

__all__ = ["Address", "Amount", "Format", "Network", "Url", "Version", "formats"]

_INT64: Final = 2**63


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# Addresses and networks


@dataclass(frozen=True, slots=True)
class Address(Opaque):
    """An IP address."""

    cel_type = types.IP
    value: ipaddress.IPv4Address | ipaddress.IPv6Address

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parses an address. Rejects zones and IPv4-mapped IPv6 addresses."""
        problem = _address_problem(text)
        if problem:
            shown = f"IP Address {_quoted(text)} parse error during conversion from string"
            raise EvaluationError(f"{shown}: ParseAddr({_quoted(text)}): {problem}")
        if "%" in text:
            raise EvaluationError(f"IP address {_quoted(text)} with zone value is not allowed")
        value = ipaddress.ip_address(text)
        if isinstance(value, ipaddress.IPv6Address) and value.ipv4_mapped is not None:
            raise EvaluationError(f"IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
        return cls(value)

    def __str__(self) -> str:
        return str(self.value)


def _address_problem(text: str) -> str:
    mark = next((character for character in text if character in ".:%"), "")
    if mark == "":
        return "unable to parse IP"
    if mark == "%":
        return "missing IPv6 address"
    if mark == ".":
        return _address_4_problem(text)
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return "unable to parse IP"
    return ""


def _address_4_problem(text: str) -> str:
    octet, count = "", 0
    for place, character in enumerate(text):
        if character.isdigit() and character.isascii():
            if octet == "0":
                return "IPv4 field has octet with leading zero"
            octet += character
            if int(octet) > 255:
                return "IPv4 field has value >255"
        elif character == ".":
            if place in (0, len(text) - 1) or text[place - 1] == ".":
                return f"IPv4 field must have at least one digit (at {_quoted(text[place:])})"
            if count == 3:
                return "IPv4 address too long"
            octet, count = "", count + 1
        else:
            return f"unexpected character (at {_quoted(text[place:])})"
    return "IPv4 address too short" if count < 3 else ""


@dataclass(frozen=True, slots=True)
class Network(Opaque):
    """A network in CIDR notation. The address may have bits beyond the prefix."""

    cel_type = types.CIDR
    value: ipaddress.IPv4Interface | ipaddress.IPv6Interface

    @classmethod
    def parse(cls, text: str) -> Network:
        """Parses a string such as `10.0.0.0/8`."""
        problem = _network_problem(text)
        if problem:
            shown = "network address parse error during conversion from string"
            raise EvaluationError(f"{shown}: {shown}: netip.ParsePrefix({_quoted(text)}): {problem}")
        value = ipaddress.ip_interface(text)
        if isinstance(value, ipaddress.IPv6Interface) and value.ip.ipv4_mapped is not None:
            shown = "network address parse error during conversion from string"
            raise EvaluationError(f"{shown}: IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
        return cls(value)

    def __str__(self) -> str:
        return f"{self.value.ip}/{self.prefix}"

    @property
    def prefix(self) -> int:
        """The number of bits that belong to the network."""
        return self.value.network.prefixlen

    def contains(self, address: Address) -> bool:
        """Whether an address is in the network."""
        return self.value.version == address.value.version and address.value in self.value.network

    def contains_network(self, other: Network) -> bool:
        """Whether all of another network is in it."""
        return other.prefix >= self.prefix and self.contains(Address(other.value.ip))


def _network_problem(text: str) -> str:
    address, slash, bits = text.rpartition("/")
    if not slash:
        return "no '/'"
    if problem := _address_problem(address):
        return f"ParseAddr({_quoted(address)}): {problem}"
    if "%" in address:
        return "IPv6 zones cannot be present in a prefix"
    if not (bits.isdigit() and bits.isascii()) or (len(bits) > 1 and bits[0] == "0"):
        return f"bad bits after slash: {_quoted(bits)}"
    return "prefix length out of range" if int(bits) > (128 if ":" in address else 32) else ""


# URLs


_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<rest>.*)", re.DOTALL)
_PORT: Final = re.compile(r"(?::[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Url(Opaque):
    """An absolute URL, or a path."""

    cel_type = types.URL
    text: str
    scheme: str
    host: str
    path: str
    query: str

    @classmethod
    def parse(cls, text: str) -> Url:
        """Parses a string."""
        if problem := url_problem(text):
            shown = f"URL parse error during conversion from string: parse {_quoted(text)}"
            raise EvaluationError(f"{shown}: {problem}")
        matched = _SCHEME.fullmatch(text)
        scheme, rest = (matched["scheme"].lower(), matched["rest"]) if matched else ("", text)
        rest = rest.partition("#")[0]
        rest, _, query = rest.partition("?")
        host, path = "", rest if rest.startswith("/") else ""
        if scheme and rest.startswith("//"):
            host, slash, path = rest[2:].partition("/")
            host, path = host.rpartition("@")[2], slash + path
        return cls(text, scheme, unquote(host), path, query)

    @property
    def hostname(self) -> str:
        """The host without its port, and without brackets."""
        if self.host.startswith("["):
            return self.host[1:].partition("]")[0]
        return self.host.partition(":")[0] if self.host.count(":") == 1 else self.host

    @property
    def port(self) -> str:
        """The port as it is written."""
        return self.host.rpartition("]")[2].partition(":")[2]

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The parameters of the query."""
        return parse_qs(self.query, keep_blank_values=True)


def url_problem(text: str) -> str:
    """Returns why a string is not a valid request URL; empty if it is."""
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in text):
        return "net/url: invalid control character in URL"
    if not text:
        return "empty url"
    if text.startswith(":"):
        return "missing protocol scheme"
    matched = _SCHEME.fullmatch(text)
    rest = (matched["rest"] if matched else text).partition("?")[0]
    if not rest.startswith("/"):
        return "" if matched or text == "*" else "invalid URI for request"
    if matched and rest.startswith("//"):
        return _host_problem(rest[2:].partition("/")[0].rpartition("@")[2])
    return _escape_problem(rest)


def _host_problem(host: str) -> str:
    if host.startswith("["):
        if "]" not in host:
            return "missing ']' in host"
        port = host.rpartition("]")[2]
    else:
        port = host[host.find(":") :] if ":" in host else ""
    if not _PORT.fullmatch(port):
        return f"invalid port {_quoted(port)} after host"
    bad = next((character for character in host if character in ' "<>\\^`{|}'), "")
    return f"invalid character {_quoted(bad)} in host name" if bad else ""


def _escape_problem(path: str) -> str:
    bad = re.search(r"%(?![0-9A-Fa-f]{2}).{0,2}", path)
    return f"invalid URL escape {_quoted(bad[0])}" if bad else ""


# Quantities and versions


_QUANTITY_RULE: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@dataclass(frozen=True, slots=True)
class Amount(Opaque):
    """A quantity."""

    cel_type = types.QUANTITY
    value: Quantity

    @classmethod
    def parse(cls, text: str) -> Amount:
        """Parses a string such as `500m`."""
        try:
            if text != text.strip():
                raise ValueError
            return cls(Quantity(text))
        except ValueError:
            raise EvaluationError(_QUANTITY_RULE) from None

    @property
    def whole(self) -> int | None:
        """The number, if it is a whole one of 64 bits."""
        number = self.value.as_decimal()
        return int(number) if number == int(number) and -_INT64 <= number < _INT64 else None


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version(Opaque):
    """A semantic version. Comparisons ignore build metadata."""

    cel_type = types.SEMVER
    numbers: tuple[int, int, int]
    prerelease: tuple[int | str, ...]

    def _order(self) -> tuple[Any, ...]:
        pieces = [(0, piece, "") if isinstance(piece, int) else (1, 0, piece) for piece in self.prerelease]
        return self.numbers, not self.prerelease, pieces

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._order() == other._order()

    def __lt__(self, other: Version) -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash((self.numbers, self.prerelease))

    @classmethod
    def parse(cls, text: str, *, normalize: bool = False) -> Version:
        """Parses a string. Normalized, `v1.02` is 1.2.0."""
        parts = (_normal(text) if normalize else text).split(".", 2)
        if not text:
            raise EvaluationError("Version string empty")
        if len(parts) != 3:
            raise EvaluationError("No Major.Minor.Patch elements found")
        last, _, build = parts[2].partition("+")
        patch, dash, prerelease = last.partition("-")
        numbers = [
            _number(part, name) for part, name in zip((*parts[:2], patch), ("Major", "Minor", "Patch"), strict=True)
        ]
        pieces = tuple(_piece(piece) for piece in prerelease.split(".")) if dash else ()
        if "+" in parts[2]:
            _check_build(build)
        return cls((numbers[0], numbers[1], numbers[2]), pieces)


_ALPHANUMERIC: Final = re.compile(r"[0-9A-Za-z-]*")


def _normal(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for place, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[place] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3 and any(sign in parts[-1] for sign in "+-"):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _number(text: str, name: str) -> int:
    if not text.isdigit() or not text.isascii():
        if text:
            raise EvaluationError(f"Invalid character(s) found in {name.lower()} number {_quoted(text)}")
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{name} number must not contain leading zeroes {_quoted(text)}")
    return int(text)


def _piece(text: str) -> int | str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if text.isdigit() and text.isascii():
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {_quoted(text)}")
        return int(text)
    if not _ALPHANUMERIC.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {_quoted(text)}")
    return text


def _check_build(build: str) -> None:
    for piece in build.split("."):
        if not piece:
            raise EvaluationError("Build meta data is empty")
        if not _ALPHANUMERIC.fullmatch(piece):
            raise EvaluationError(f"Invalid character(s) found in build meta data {_quoted(piece)}")


# Formats


@dataclass(frozen=True, slots=True)
class Format(Opaque):
    """A named string format."""

    cel_type: Type = types.FORMAT
    name: str = ""
    pattern_size: int = 0
    """The length of the pattern in the server's estimates."""

    def problems(self, text: str) -> list[str]:
        """Returns the problems of a string."""
        return _RULES[self.name](text)


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Returns the check for a name prefix, which can end with a dash."""
    return lambda text: rule(f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text)


def _known(name: str, problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if fits_format(name, text) else [problem]


def _uri_problems(text: str) -> list[str]:
    problem = url_problem(text)
    return [f"parse {_quoted(text)}: {problem}"] if problem else []


_RULES: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": names.label_problems,
    "dns1123Subdomain": names.subdomain_problems,
    "dns1035Label": names.label_1035_problems,
    "qualifiedName": names.qualified_name_problems,
    "dns1123LabelPrefix": _prefix(names.label_problems),
    "dns1123SubdomainPrefix": _prefix(names.subdomain_problems),
    "dns1035LabelPrefix": _prefix(names.label_1035_problems),
    "labelValue": names.label_value_problems,
    "uri": _uri_problems,
    "uuid": _known("uuid", "does not match the UUID format"),
    "byte": _known("byte", "invalid base64"),
    "date": _known("date", "invalid date"),
    "datetime": _known("date-time", "invalid datetime"),
}
_PATTERN_SIZES: Final = {"dns1123Subdomain": 60, "dns1123SubdomainPrefix": 60, "qualifiedName": 60, "labelValue": 40}


def formats(name: str) -> Format | None:
    """Returns the format with that name."""
    return Format(name=name, pattern_size=_PATTERN_SIZES.get(name, 30)) if name in _RULES else None
