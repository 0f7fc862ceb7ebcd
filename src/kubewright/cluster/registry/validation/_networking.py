"""Validation of Ingresses and NetworkPolicies."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required, too_long
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import (
    label_selector_errors,
    port_or_name_errors,
)
from kubewright.names import label_problems, path_segment_problems, subdomain_problems

__all__ = ["ingress_class_errors", "ingress_errors", "network_policy_errors"]

_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_SCOPES: Final = ("Cluster", "Namespace")
_MAX_CONTROLLER: Final = 250
_HTTP_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_HTTP_PATH_RULE: Final = f"Invalid path (regex used for validation is '{_HTTP_PATH.pattern}')"


def ingress_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of an Ingress."""
    errors: list[FieldError] = []
    backend = spec.get("defaultBackend")
    if not spec.get("rules") and backend is None:
        errors.append(invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(spec.get("rules") or ()):
        path, host = f"spec.rules[{index}]", rule.get("host", "")
        if host:
            errors += _host(host, f"{path}.host")
        if (http := rule.get("http")) is not None:
            if not http.get("paths"):
                errors.append(required(f"{path}.http.paths"))
            for number, each in enumerate(http.get("paths") or ()):
                errors += _path(each, f"{path}.http.paths[{number}]")
    if name := spec.get("ingressClassName"):
        errors += [invalid("spec.ingressClassName", name, problem) for problem in subdomain_problems(name)]
    return errors


def _host(host: str, path: str) -> list[FieldError]:
    errors = []
    try:
        ipaddress.ip_address(host)
        errors.append(invalid(path, host, "must be a DNS name, not an IP address"))
    except ValueError:
        pass
    name = host.removeprefix("*.")
    return errors + [invalid(path, host, problem) for problem in subdomain_problems(name)]


def _path(each: JSONObject, path: str) -> list[FieldError]:
    kind, value = each.get("pathType"), each.get("path", "")
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: list[FieldError] = []
    if kind not in _PATH_TYPES:
        errors.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif not value.startswith("/") and (value or kind != "ImplementationSpecific"):
        errors.append(invalid(f"{path}.path", value, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        inside = [part for part in ("//", "/./", "/../", "%2f", "%2F") if part in value]
        errors += [invalid(f"{path}.path", value, f"must not contain '{part}'") for part in inside]
        ends = [end for end in ("/..", "/.") if value.endswith(end)]
        errors += [invalid(f"{path}.path", value, f"cannot end with '{end}'") for end in ends]
    return errors + _backend(each.get("backend") or {}, f"{path}.backend")


def _backend(backend: JSONObject, path: str) -> list[FieldError]:
    service = backend.get("service")
    if backend.get("resource") is not None:
        text = "cannot set both resource and service backends"
        return [invalid(path, "", text)] if service is not None else _reference(backend["resource"], f"{path}.resource")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name, port = service.get("name", ""), service.get("port") or {}
    errors = [] if name else [required(f"{path}.service.name")]
    if name:
        errors += [invalid(f"{path}.service.name", name, problem) for problem in label_problems(name)]
    if port.get("name") and port.get("number"):
        errors.append(invalid(path, "", "cannot set both port name & port number"))
    elif port.get("name"):
        errors += port_or_name_errors(port["name"], f"{path}.service.port.name")
    elif port.get("number"):
        errors += port_or_name_errors(port["number"], f"{path}.service.port.number")
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _reference(reference: JSONObject, path: str) -> list[FieldError]:
    """Validates a reference to an object of any kind."""
    group, errors = reference.get("apiGroup"), list[FieldError]()
    if group is not None:
        errors += [invalid(f"{path}.apiGroup", group, problem) for problem in subdomain_problems(group)]
    for field in ("kind", "name"):
        value = reference.get(field, "")
        errors += [invalid(f"{path}.{field}", value, problem) for problem in path_segment_problems(value)]
        errors += [] if value else [required(f"{path}.{field}")]
    return errors


def ingress_class_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of an IngressClass."""
    controller, parameters = spec.get("controller", ""), spec.get("parameters")
    errors = [too_long("spec.controller", _MAX_CONTROLLER)] if len(controller.encode()) > _MAX_CONTROLLER else []
    errors += _controller(controller)
    if parameters is None:
        return errors
    path, scope, namespace = "spec.parameters", parameters.get("scope"), parameters.get("namespace")
    errors += _reference(parameters, path)
    if scope is None:
        return [*errors, required(f"{path}.scope")]
    if scope not in _SCOPES:
        return [*errors, not_supported(f"{path}.scope", scope, _SCOPES)]
    if scope == "Cluster":
        text = "`parameters.scope` is set to 'Cluster'"
        return errors if namespace is None else [*errors, forbidden(f"{path}.namespace", text)]
    if namespace is None:
        return [*errors, required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")]
    return errors + [invalid(f"{path}.namespace", namespace, problem) for problem in label_problems(namespace)]


def _controller(name: str) -> list[FieldError]:
    path = "spec.controller"
    if not name:
        return [required(path)]
    host, _, rest = name.partition("/")
    if not host or not rest:
        return [invalid(path, name, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(path, host, problem) for problem in subdomain_problems(host)]
    return errors if _HTTP_PATH.fullmatch(rest) else [*errors, invalid(path, rest, _HTTP_PATH_RULE)]


def network_policy_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a NetworkPolicy."""
    errors = label_selector_errors(spec.get("podSelector"), "spec.podSelector")
    for way, ends in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(way) or ()):
            path = f"spec.{way}[{index}]"
            errors += _policy_ports(rule.get("ports") or (), f"{path}.ports")
            for number, peer in enumerate(rule.get(ends) or ()):
                errors += _peer(peer, f"{path}.{ends}[{number}]")
    for index, kind in enumerate(spec.get("policyTypes") or ()):
        if kind not in ("Ingress", "Egress"):
            errors.append(not_supported(f"spec.policyTypes[{index}]", kind, ["Ingress", "Egress"]))
    return errors


def _policy_ports(ports: Iterable[JSONObject], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, port in enumerate(ports):
        place, protocol = f"{path}[{index}]", port.get("protocol")
        if protocol is not None and protocol not in ("TCP", "UDP", "SCTP"):
            errors.append(not_supported(f"{place}.protocol", protocol, ["TCP", "UDP", "SCTP"]))
        if port.get("port") is not None:
            errors += port_or_name_errors(port["port"], f"{place}.port")
    return errors


def _peer(peer: JSONObject, path: str) -> list[FieldError]:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    errors: list[FieldError] = []
    for name in given:
        if name != "ipBlock":
            errors += label_selector_errors(peer[name], f"{path}.{name}")
            continue
        text = peer[name].get("cidr", "")
        try:
            ipaddress.ip_network(text, strict=False)
            good = "/" in text
        except ValueError:
            good = False
        if not good:
            rule = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            errors.append(invalid(f"{path}.{name}.cidr", text, rule) if text else required(f"{path}.{name}.cidr"))
    if not given:
        errors.append(required(path, "must specify a peer"))
    elif len(given) > 1 and "ipBlock" in given:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors
