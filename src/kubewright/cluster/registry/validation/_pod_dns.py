"""Validation of name servers, search lists and host aliases of pods, in kube-apiserver's order."""

from __future__ import annotations

import re
from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._addresses import address_problems
from kubewright.names import subdomain_problems

__all__ = ["dns_errors", "host_alias_errors"]

_SERVERS: Final = 3
_SEARCHES: Final = 32
_SEARCH_BYTES: Final = 2048
_LABEL: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_SEARCH_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start"
    f" and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SEARCH.pattern}')"
)


def dns_errors(spec: JSONObject, path: str) -> list[FieldError]:
    """Validates `dnsConfig`, whose path is given."""
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", text)]
    return _config_errors(config, path) if config is not None else []


def _config_errors(config: JSONObject, path: str) -> list[FieldError]:
    servers, searches, errors = config.get("nameservers") or [], config.get("searches") or [], list[FieldError]()
    if len(servers) > _SERVERS:
        errors.append(invalid(f"{path}.nameservers", servers, f"must not have more than {_SERVERS} nameservers"))
    for index, server in enumerate(servers):
        errors += [invalid(f"{path}.nameservers[{index}]", server, problem) for problem in address_problems(server)]
    if len(searches) > _SEARCHES:
        errors.append(invalid(f"{path}.searches", searches, f"must not have more than {_SEARCHES} search paths"))
    if len(" ".join(searches).encode()) > _SEARCH_BYTES:
        text = f"must not have more than {_SEARCH_BYTES} characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, text))
    for index, search in enumerate(searches):
        name, place = search.removesuffix("."), f"{path}.searches[{index}]"
        if search == ".":
            continue
        if len(name.encode()) > 253:
            errors.append(invalid(place, name, "must be no more than 253 characters"))
        if not _SEARCH.fullmatch(name):
            errors.append(invalid(place, name, _SEARCH_RULE))
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(f"{path}.options[{index}]", "must not be empty"))
    return errors


def host_alias_errors(aliases: list[JSONObject], path: str) -> list[FieldError]:
    """Validates the addresses and names of host aliases."""
    errors: list[FieldError] = []
    for index, alias in enumerate(aliases):
        address = alias.get("ip", "")
        errors += [invalid(f"{path}[{index}].ip", address, problem) for problem in address_problems(address)]
        for number, name in enumerate(alias.get("hostnames") or ()):
            place = f"{path}[{index}].hostnames[{number}]"
            errors += [invalid(place, name, problem) for problem in subdomain_problems(name)]
    return errors
