"""Validation of the addresses in Endpoints and EndpointSlices."""

from __future__ import annotations

import ipaddress
from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._addresses import parsed_address

__all__ = ["endpoint_slice_errors", "endpoints_errors"]

_NOT_AN_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_LOOPBACK: Final = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
_LINK_LOCAL: Final = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
_MULTICAST: Final = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
_LOCAL_MULTICAST: Final = (ipaddress.IPv4Network("224.0.0.0/24"), ipaddress.IPv6Network("ff02::/16"))
_FAMILIES: Final = {"IPv4": 4, "IPv6": 6}


def endpoints_errors(obj: JSONObject, *, allow_loopback: bool) -> list[FieldError]:
    """Validates the addresses of Endpoints. The real server never allows loopback addresses."""
    errors: list[FieldError] = []
    for number, subset in enumerate(obj.get("subsets") or ()):
        place = f"subsets[{number}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(place, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for index, address in enumerate(subset.get(field) or ()):
                path, text = f"{place}.{field}[{index}].ip", address.get("ip", "")
                if parsed_address(text) is None:
                    errors.append(invalid(path, text, _NOT_AN_ADDRESS))
                    errors.append(invalid(path, text, "must be a valid IP address"))
                else:
                    errors += _special_address(path, text, allow_loopback=allow_loopback)
    return errors


def endpoint_slice_errors(obj: JSONObject, *, allow_loopback: bool) -> list[FieldError]:
    """Validates the addresses of an EndpointSlice. The real server never allows loopback addresses."""
    errors: list[FieldError] = []
    kind = obj.get("addressType", "")
    for number, endpoint in enumerate(obj.get("endpoints") or ()):
        place = f"endpoints[{number}].addresses"
        if not endpoint.get("addresses"):
            errors.append(required(place, "must contain at least 1 address"))
        for index, text in enumerate(endpoint.get("addresses") or () if kind in _FAMILIES else ()):
            path, parsed = f"{place}[{index}]", parsed_address(text)
            if parsed is None:
                errors.append(invalid(path, text, _NOT_AN_ADDRESS))
                continue
            if parsed.version != _FAMILIES[kind]:
                errors.append(invalid(place, text, f"must be an {kind} address"))
            errors += _special_address(path, text, allow_loopback=allow_loopback)
    return errors


def _special_address(path: str, text: str, *, allow_loopback: bool) -> list[FieldError]:
    address = parsed_address(text)
    assert address is not None
    errors: list[FieldError] = []
    if address.is_unspecified:
        errors.append(invalid(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback and not allow_loopback:
        errors.append(invalid(path, text, _LOOPBACK))
    if address.is_link_local:
        errors.append(invalid(path, text, _LINK_LOCAL))
    if any(address in network for network in _LOCAL_MULTICAST):
        errors.append(invalid(path, text, _MULTICAST))
    return errors
