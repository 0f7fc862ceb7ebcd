"""Table rows of Services, endpoints, addresses, Ingresses and NetworkPolicies."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kubewright.columns._cells import (
    NONE,
    UNSET,
    age_of,
    first_cell,
    labels_cell,
    name_and_age,
    name_of,
    selector_cell,
    spec_of,
    status_of,
)
from kubewright.columns._table import JSONObject

__all__ = [
    "endpoint_slice",
    "endpoints",
    "ingress",
    "ingress_class",
    "ip_address",
    "network_policy",
    "service",
    "service_cidr",
]

_DEFAULT_CLASS: Final = "ingressclass.kubernetes.io/is-default-class"
_SHOWN_ADDRESSES: Final = 3


def service(obj: JSONObject, now: datetime) -> list[Any]:
    spec = spec_of(obj)
    ports = []
    for port in spec.get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    address = spec.get("clusterIP") or NONE
    shown = [spec.get("type", ""), address, _external(obj), ",".join(ports) or NONE]
    return [name_of(obj), *shown, age_of(obj, now), labels_cell(spec.get("selector"))]


def _external(obj: JSONObject) -> str:
    spec, kind = spec_of(obj), spec_of(obj).get("type")
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    addresses = list(spec.get("externalIPs") or ())
    if kind == "LoadBalancer":
        ingress = (status_of(obj).get("loadBalancer") or {}).get("ingress") or ()
        addresses = [each.get("ip") or each.get("hostname", "") for each in ingress] + addresses
        return ",".join(addresses) or "<pending>"
    return ",".join(addresses) or NONE


def ingress(obj: JSONObject, now: datetime) -> list[Any]:
    spec = spec_of(obj)
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    shown = ",".join(hosts) or "*"
    if len(hosts) > 3:
        shown = f"{','.join(hosts[:3])} + {len(hosts) - 3} more..."
    balancer = (status_of(obj).get("loadBalancer") or {}).get("ingress") or ()
    address = ",".join(each.get("ip") or each.get("hostname", "") for each in balancer)
    ports = "80, 443" if spec.get("tls") else "80"
    return [name_of(obj), spec.get("ingressClassName", NONE), shown, address, ports, age_of(obj, now)]


def network_policy(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), selector_cell(spec_of(obj).get("podSelector") or {}), age_of(obj, now)]


def endpoints(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: the addresses of a Service with their ports."""
    name, since = name_and_age(obj, now)
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [each["ip"] for each in subset.get("addresses") or ()]
        if not subset.get("ports"):
            found += addresses
        for port in subset.get("ports") or ():
            found += [f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}" for ip in addresses]
    return [name, first_cell(found, _SHOWN_ADDRESSES) if obj.get("subsets") else NONE, since]


def endpoint_slice(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: ports and addresses."""
    name, since = name_and_age(obj, now)
    ports = [str(each.get("port") or each.get("name") or "*") for each in obj.get("ports") or ()]
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    shown = [first_cell(found, _SHOWN_ADDRESSES) or UNSET for found in (ports, addresses)]
    return [name, obj.get("addressType", ""), *shown, since]


def ingress_class(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: controller and parameters."""
    name, since = name_and_age(obj, now)
    spec = obj.get("spec") or {}
    if (obj["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true":
        name += " (default)"
    shown = NONE
    if parameters := spec.get("parameters"):
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") is not None else ""
        shown = f"{parameters['kind']}{group}/{parameters['name']}"
    return [name, spec.get("controller", ""), shown, since]


def ip_address(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row: the object that has the address. As on the real server, the age follows without a column."""
    parent, shown = spec_of(obj).get("parentRef"), NONE
    if parent is not None:
        group = f".{parent['group']}" if parent.get("group") else ""
        namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
        shown = f"{(parent.get('resource', '') + group).lower()}{namespace}/{parent.get('name', '')}"
    return [name_of(obj), shown, age_of(obj, now)]


def service_cidr(obj: JSONObject, now: datetime) -> list[Any]:
    return [name_of(obj), ",".join(spec_of(obj).get("cidrs") or ()), age_of(obj, now)]
