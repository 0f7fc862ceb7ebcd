"""Kubernetes' own functions: URLs, addresses, networks, quantities, versions, regular expressions, formats."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any, Final

from kubewright.api.cel._kubernetes_values import Address, Amount, Format, Network, Url, Version, formats, url_problem
from kubewright.api.cel._regexes import find_all
from kubewright.api.cel._values import NONE, EvaluationError, Optional, no_overload

__all__ = ["IMPLEMENTATIONS", "format_maker"]


def _parses(parse: Callable[..., Any]) -> Callable[..., bool]:
    def check(text: str, *more: Any) -> bool:
        try:
            parse(text, *more)
        except EvaluationError:
            return False
        return True

    return check


def _of_text(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    def make(text: Any) -> Any:
        if not isinstance(text, str):
            raise no_overload()
        return parse(text)

    return make


# Addresses and networks


def _ip(value: Any) -> Address:
    if isinstance(value, Network):
        return Address(value.value.ip)
    return Address(value.value) if isinstance(value, Address) else _of_text(Address.parse)(value)


def _is_global_unicast(address: Address) -> bool:
    value = address.value
    broadcast = value == ipaddress.IPv4Address("255.255.255.255")
    return not (broadcast or value.is_unspecified or value.is_loopback or value.is_multicast or value.is_link_local)


def _is_link_local_multicast(address: Address) -> bool:
    value = address.value
    if isinstance(value, ipaddress.IPv4Address):
        return value in ipaddress.ip_network("224.0.0.0/24")
    return value.packed[0] == 0xFF and value.packed[1] & 0x0F == 2


def _contains_ip(network: Network, address: Any) -> bool:
    if isinstance(address, Address):
        return network.contains(address)
    try:
        return network.contains(Address.parse(address))
    except EvaluationError:  # the server drops the reason
        raise no_overload() from None


def _contains_cidr(network: Network, other: Any) -> bool:
    return network.contains_network(other if isinstance(other, Network) else Network.parse(other))


def _masked(network: Network) -> Network:
    return Network(ipaddress.ip_interface(str(network.value.network)))


# Quantities and versions


def _compare(one: Any, other: Any) -> int:
    if isinstance(one, Amount):
        one, other = one.value, other.value
    return int(one > other) - int(one < other)


def _as_integer(amount: Amount) -> int:
    if amount.whole is None:
        raise EvaluationError("cannot convert value to integer")
    return amount.whole


def _added(sign: int) -> Callable[[Amount, Any], Amount]:
    def add(amount: Amount, other: Any) -> Amount:
        value = other.value if isinstance(other, Amount) else other
        return Amount(amount.value + value if sign > 0 else amount.value - value)

    return add


def _semver(text: str, normalize: bool = False) -> Version:
    return Version.parse(text, normalize=normalize)


# Strings


def _find(text: str, pattern: str) -> str:
    return next(iter(find_all(text, pattern)), "")


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    found = find_all(text, pattern)
    return found if count < 0 else found[:count]


def _validate(format_: Format, text: str) -> Optional:
    problems = format_.problems(text)
    return Optional(problems) if problems else NONE


def _named(name: str) -> Optional:
    found = formats(name)
    return NONE if found is None else Optional(found)


def format_maker(name: str) -> Callable[[], Format]:
    """Returns the function that returns a format: `format.dns1123Label()`."""
    found = formats(name)
    assert found is not None
    return lambda: found


IMPLEMENTATIONS: Final[dict[str, Callable[..., Any]]] = {
    "url": _of_text(Url.parse),
    "isURL": lambda text: not url_problem(text),
    "getScheme": lambda url: url.scheme,
    "getHost": lambda url: url.host,
    "getHostname": lambda url: url.hostname,
    "getPort": lambda url: url.port,
    "getEscapedPath": lambda url: url.path,
    "getQuery": lambda url: url.parameters,
    "find": _find,
    "findAll": _find_all,
    "ip": _ip,
    "isIP": _parses(Address.parse),
    "jsonpatch.escapeKey": lambda key: key.replace("~", "~0").replace("/", "~1"),
    "ip.isCanonical": lambda text: str(Address.parse(text)) == text,
    "family": lambda address: address.value.version,
    "isUnspecified": lambda address: address.value.is_unspecified,
    "isLoopback": lambda address: address.value.is_loopback,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": lambda address: address.value.is_link_local,
    "isGlobalUnicast": _is_global_unicast,
    "cidr": _of_text(Network.parse),
    "isCIDR": _parses(Network.parse),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": lambda network: network.prefix,
    "masked": _masked,
    "quantity": _of_text(Amount.parse),
    "isQuantity": _parses(Amount.parse),
    "sign": lambda amount: (amount.value > 0) - (amount.value < 0),
    "isGreaterThan": lambda one, other: _compare(one, other) > 0,
    "isLessThan": lambda one, other: _compare(one, other) < 0,
    "compareTo": _compare,
    "asApproximateFloat": lambda amount: float(amount.value),
    "asInteger": _as_integer,
    "isInteger": lambda amount: amount.whole is not None,
    "add": _added(1),
    "sub": _added(-1),
    "semver": _semver,
    "isSemver": _parses(_semver),
    "major": lambda version: version.numbers[0],
    "minor": lambda version: version.numbers[1],
    "patch": lambda version: version.numbers[2],
    "validate": _validate,
    "format.named": _named,
}
