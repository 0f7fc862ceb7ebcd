"""Validation of Services, in kube-apiserver's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubewright.cluster.machinery._field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._addresses import parsed_address
from kubewright.cluster.registry.validation._common import label_key_errors, one_of, port_errors, port_or_name_errors
from kubewright.names import label_problems, label_value_problems, subdomain_problems

__all__ = ["balancer_errors", "service_errors"]

_SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MODES: Final = ("Proxy", "VIP")
_ADDRESS_RULE: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_AFFINITIES: Final = ("ClientIP", "None")


def balancer_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Validates the addresses of a load balancer in the status."""
    given, before = (((each.get("status") or {}).get("loadBalancer") or {}).get("ingress") or () for each in (obj, old))
    path = "status.loadBalancer.ingress"
    if given and obj["spec"].get("type") != "LoadBalancer":
        return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    known = {entry.get("ip") for entry in before}
    errors: list[FieldError] = []
    for index, entry in enumerate(given):
        where, address, mode, name = f"{path}[{index}]", entry.get("ip", ""), entry.get("ipMode"), entry.get("hostname")
        if address and address not in known and parsed_address(address) is None:
            errors.append(invalid(f"{where}.ip", address, _ADDRESS_RULE))
        if mode is None:
            errors += [required(f"{where}.ipMode", "must be specified when `ip` is set")] if address else []
        elif not address:
            errors.append(forbidden(f"{where}.ipMode", "may not be specified when `ip` is not set"))
        elif mode not in _MODES:
            errors.append(not_supported(f"{where}.ipMode", mode, _MODES))
        if name:
            errors += [invalid(f"{where}.hostname", name, problem) for problem in subdomain_problems(name)]
            if parsed_address(name) is not None:
                errors.append(invalid(f"{where}.hostname", name, "must be a DNS name, not an IP address"))
    return errors


def service_errors(spec: JSONObject) -> list[FieldError]:
    """Validates type and ports of a Service."""
    kind: Any = spec.get("type", "")
    ports = spec.get("ports") or ()
    errors: list[FieldError] = []
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and spec.get("clusterIP") == "None":
        errors.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    if kind == "ExternalName":
        given = [field for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(field)]
        errors += [forbidden(f"spec.{field}", "may not be set for ExternalName services") for field in given]
        name = spec.get("externalName", "").removesuffix(".")
        if not name:
            errors.append(required("spec.externalName"))
        else:
            errors += [invalid("spec.externalName", name, problem) for problem in subdomain_problems(name)]
    names: set[str] = set()
    for index, port in enumerate(ports):
        place, name = f"spec.ports[{index}]", port.get("name", "")
        if len(ports) > 1 and not name:
            errors.append(required(f"{place}.name"))
        elif name:
            errors += [invalid(f"{place}.name", name, problem) for problem in label_problems(name)]
            if name in names:
                errors.append(duplicate(f"{place}.name", name))
            names.add(name)
        errors += port_errors(port.get("port", 0), f"{place}.port")
        errors += one_of(port, "protocol", place, _PROTOCOLS)
        if port.get("targetPort") is not None:
            errors += port_or_name_errors(port["targetPort"], f"{place}.targetPort")
    errors += _selector_errors(spec)
    if (affinity := spec.get("sessionAffinity")) not in _AFFINITIES:
        errors.append(not_supported("spec.sessionAffinity", affinity or "", _AFFINITIES))
    if kind not in _SERVICE_TYPES:
        errors.append(not_supported("spec.type", kind, _SERVICE_TYPES))
    return errors + _node_port_errors(kind, ports) + _same_ports(ports)


def _selector_errors(spec: JSONObject) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in (spec.get("selector") or {}).items():
        errors += label_key_errors(key, "spec.selector")
        errors += [invalid("spec.selector", value, problem) for problem in label_value_problems(value)]
    return errors


def _node_port_errors(kind: str, ports: Sequence[JSONObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen = set()
    for index, port in enumerate(ports):
        if not port.get("nodePort"):
            continue
        place, key = f"spec.ports[{index}].nodePort", (port.get("protocol"), port["nodePort"])
        if kind == "ClusterIP":
            errors.append(forbidden(place, "may not be used when `type` is 'ClusterIP'"))
        if key in seen:
            errors.append(duplicate(place, port["nodePort"]))
        seen.add(key)
    return errors


def _same_ports(ports: Sequence[JSONObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1]}
            errors.append(duplicate(f"spec.ports[{index}]", shown | {"TargetPort": 0, "NodePort": 0}))
        seen.add(key)
    return errors
