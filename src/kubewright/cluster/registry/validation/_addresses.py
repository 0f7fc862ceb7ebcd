"""Validation of IPAddresses and ServiceCIDRs, and of addresses and ranges in new fields."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import path_segment_problems, subdomain_problems

__all__ = [
    "address_errors",
    "address_name_problems",
    "address_problems",
    "address_update_errors",
    "address_warnings",
    "interface_problems",
    "parsed_address",
    "range_errors",
    "range_update_errors",
]

_IMMUTABLE: Final = "field is immutable"
_ADDRESS_RULE: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_RANGE_RULE: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_LEADING_ZEROS: Final = re.compile(r"(^|[./])0+(?=[0-9])")
_INTERFACE_RULE: Final = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
_PARENT_FIELDS: Final = ("group", "resource", "namespace", "name")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parsed_address(text: str) -> _Address | None:
    """Returns an address; ignores leading zeros of IPv4 numbers. A zone is not allowed."""
    try:
        return None if "%" in text else ipaddress.ip_address(_without_zeros(text))
    except ValueError:
        return None


def _without_zeros(text: str) -> str:
    return text if ":" in text.partition("/")[0] else _LEADING_ZEROS.sub(r"\1", text)


def _is_mapped(address: _Address) -> bool:
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def address_warnings(text: str, path: str) -> list[str]:
    """Returns the warning for an address in a form that some programs do not accept, or understand differently."""
    address = parsed_address(text)
    if address is None:
        return []
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return [f'{path}: non-standard IP address "{text}" is invalid: use "{address.ipv4_mapped}"']
    if _without_zeros(text) != text:
        return [f'{path}: non-standard IP address "{text}" is invalid: use "{address}"']
    if address.version == 6 and str(address) != text:
        return [f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")']
    return []


def address_problems(text: str) -> list[str]:
    """Returns the problems of an address that programs may understand differently."""
    address = parsed_address(text)
    if address is None:
        return [_ADDRESS_RULE]
    if _without_zeros(text) != text:
        return ["must not have leading 0s"]
    return ["must not be an IPv4-mapped IPv6 address"] if _is_mapped(address) else []


def address_name_problems(name: str) -> list[str]:
    """Returns the problems of an address that must be in its canonical form."""
    if problems := address_problems(name):
        return problems
    address = parsed_address(name)
    return [] if str(address) == name else [f'must be in canonical form ("{address}")']


def _range_problem(text: str) -> str:
    """Returns the problem of a range that must be in its canonical form; empty if there is none."""
    address, slash, length = text.partition("/")
    parsed = parsed_address(address)
    if parsed is None or not slash or not (length.isascii() and length.isdigit()) or len(length) > 9:
        return _RANGE_RULE
    if int(length) > parsed.max_prefixlen:
        return _RANGE_RULE
    if _without_zeros(address) != address or str(int(length)) != length:
        return "must not have leading 0s in IP or prefix length"
    if _is_mapped(parsed):
        return "must not have an IPv4-mapped IPv6 address"
    network = ipaddress.ip_network(f"{parsed}/{length}", strict=False)
    if network.network_address != parsed:
        return "must not have bits set beyond the prefix length"
    return "" if str(network) == text else f'must be in canonical form ("{network}")'


def interface_problems(text: str) -> list[str]:
    """Returns the problems of the address of an interface, with the length of its prefix."""
    address, slash, length = text.partition("/")
    parsed = parsed_address(address)
    if parsed is None or not slash or not (length.isascii() and length.isdigit()) or len(length) > 9:
        return [_INTERFACE_RULE]
    if (bits := int(length)) > parsed.max_prefixlen:
        return [_INTERFACE_RULE]
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed, bits = parsed.ipv4_mapped, bits - 96 if bits > 32 else bits
    canonical = f"{parsed}/{bits}"
    return [] if text == canonical else [f'must be in canonical form ("{canonical}")']


def address_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the parent of an IPAddress."""
    parent, path = spec.get("parentRef"), "spec.parentRef"
    if parent is None:
        return [required(path)]
    errors: list[FieldError] = []
    if group := parent.get("group"):
        errors += [invalid(f"{path}.group", group, problem) for problem in subdomain_problems(group)]
    for field in ("resource", "name", "namespace"):
        if value := parent.get(field):
            errors += [invalid(f"{path}.{field}", value, problem) for problem in path_segment_problems(value)]
        elif field != "namespace":
            errors.append(required(f"{path}.{field}"))
    return errors


def address_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects a change of the parent."""
    given, before = (each.get("spec", {}).get("parentRef") for each in (obj, old))
    if given == before:
        return []
    shown = None if given is None else {name.capitalize(): given.get(name, "") for name in _PARENT_FIELDS}
    return [invalid("spec.parentRef", shown, _IMMUTABLE)]


def range_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the ranges of a ServiceCIDR: one, or one of each family."""
    ranges, path = spec.get("cidrs") or [], "spec.cidrs"
    if not ranges:
        return [required(path, "at least one CIDR required")]
    if len(ranges) > 2:
        return [invalid(path, {"CIDRs": ranges}, "may only hold up to 2 values")]
    problems = [_range_problem(each) for each in ranges]
    errors = [invalid(f"{path}[{index}]", ranges[index], text) for index, text in enumerate(problems) if text]
    families = [":" in each for each, problem in zip(ranges, problems, strict=True) if problem != _RANGE_RULE]
    if len(families) == 2 and families[0] == families[1]:
        text = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(invalid(path, ranges, text))
    return errors


def range_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects a change of the ranges, other than an additional one of the other family."""
    ranges, before = ((each.get("spec") or {}).get("cidrs") or [] for each in (obj, old))
    if len(ranges) == len(before):
        pairs = enumerate(zip(ranges, before, strict=True))
        return [invalid(f"spec.cidrs[{index}]", new, _IMMUTABLE) for index, (new, was) in pairs if new != was]
    if (len(before), len(ranges)) != (1, 2):
        return [invalid("spec.cidrs", ranges, _IMMUTABLE)]
    changed = [] if ranges[0] == before[0] else [invalid("spec.cidrs[0]", ranges[0], _IMMUTABLE)]
    return [*changed, *range_errors(obj["spec"])]
