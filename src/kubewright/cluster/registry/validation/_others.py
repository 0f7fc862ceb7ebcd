"""Validation of claims, budgets, autoscalers, leases, Ingresses and NetworkPolicies."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, Final

from kubewright.api import Quantity
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, not_supported, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import (
    at_least_zero,
    condition_errors,
    label_selector_errors,
    port_or_name_errors,
)
from kubewright.names import label_problems, subdomain_problems

__all__ = [
    "autoscaler_errors",
    "budget_errors",
    "budget_status_errors",
    "claim_errors",
    "claim_update_errors",
    "ingress_errors",
    "lease_errors",
    "number_or_percent_errors",
    "policy_errors",
]

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
    "regex used for validation is '[0-9]+%')"
)
_CLAIM_STAYS: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def number_or_percent_errors(value: Any, path: str, *, most: bool) -> list[FieldError]:
    """Validates a non-negative number or a percentage; with `most`, at most 100%."""
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]+%", value):
            return [invalid(path, value, _PERCENT_RULE)]
        return [invalid(path, value, "must not be greater than 100%")] if most and int(value[:-1]) > 100 else []
    return [] if value is None or value >= 0 else [invalid(path, value, "must be greater than or equal to 0")]


def claim_errors(spec: JSONObject, path: str = "spec") -> list[FieldError]:
    """Validates the spec of a PersistentVolumeClaim."""
    errors: list[FieldError] = []
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    odd = [mode for mode in modes if mode not in _ACCESS_MODES]
    errors += [not_supported(f"{path}.accessModes", mode, _ACCESS_MODES) for mode in odd]
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        text = "may not use ReadWriteOncePod with other access modes"
        errors.append(forbidden(f"{path}.accessModes", text))
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        errors.append(required(f"{path}.resources[storage]"))
    elif Quantity(storage) <= Quantity("0"):
        errors.append(invalid(f"{path}.resources[storage]", storage, "must be greater than zero"))
    if name := spec.get("storageClassName"):
        errors += [invalid(f"{path}.storageClassName", name, problem) for problem in subdomain_problems(name)]
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, _VOLUME_MODES))
    return errors


def claim_update_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Rejects changes of immutable fields. A bound claim may grow; an unbound one may get its volume."""
    spec, before = obj["spec"], old["spec"]
    free = ["volumeName"] if not before.get("volumeName") else []
    if not before.get("storageClassName"):
        free.append("storageClassName")  # a default class may be set later
    bound = (old.get("status") or {}).get("phase") == "Bound"
    if bound:
        free += ["resources", "volumeAttributesClassName"]
    fixed = [{name: value for name, value in each.items() if name not in free} for each in (spec, before)]
    if fixed[0] != fixed[1]:
        return [forbidden("spec", _CLAIM_STAYS)]
    sizes = [((each.get("resources") or {}).get("requests") or {}).get("storage", "0") for each in (spec, before)]
    if bound and Quantity(sizes[0]) < Quantity(sizes[1]):
        status = ((old.get("status") or {}).get("capacity") or {}).get("storage", sizes[1])
        if Quantity(sizes[0]) <= Quantity(status):
            text = "field can not be less than status.capacity"
            return [forbidden("spec.resources.requests.storage", text)]
    return []


def budget_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a PodDisruptionBudget."""
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    errors: list[FieldError] = []
    if least is not None and most is not None:
        shown = {
            "MinAvailable": least,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        errors.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    errors += number_or_percent_errors(least, "spec.minAvailable", most=True)
    errors += number_or_percent_errors(most, "spec.maxUnavailable", most=True)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in ("AlwaysAllow", "IfHealthyBudget"):
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, ["AlwaysAllow", "IfHealthyBudget"]))
    return errors + label_selector_errors(spec.get("selector"), "spec.selector")


def budget_status_errors(status: JSONObject) -> list[FieldError]:
    """Validates the status of a PodDisruptionBudget."""
    errors = condition_errors(status.get("conditions") or (), "status.conditions")
    for number in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        errors += at_least_zero(status, number, "status")
    return errors


def autoscaler_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a HorizontalPodAutoscaler."""
    least, most, target = spec.get("minReplicas"), spec.get("maxReplicas", 0), spec.get("scaleTargetRef") or {}
    errors: list[FieldError] = []
    if least is not None and least < 1:
        errors.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    errors += [required(f"spec.scaleTargetRef.{name}") for name in ("kind", "name") if not target.get(name)]
    version = target.get("apiVersion", "")
    if not version.partition("/")[2] and target.get("kind") != "ReplicationController":
        text = "apiVersion must specify API group"
        errors.append(invalid("spec.scaleTargetRef.apiVersion", version, text))
    return errors


def lease_errors(spec: JSONObject) -> list[FieldError]:
    """Validates the spec of a Lease."""
    seconds = spec.get("leaseDurationSeconds")
    errors = []
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    return errors + at_least_zero(spec, "leaseTransitions", "spec")


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
        return [invalid(path, "", text)] if service is not None else []
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


def policy_errors(spec: JSONObject) -> list[FieldError]:
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
