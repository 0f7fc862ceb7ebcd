"""The objects that kube-apiserver creates itself: namespaces, the `kubernetes` Service with its endpoints, the range of
cluster IPs, priority classes, APIServices, and with RBAC the default roles."""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from kubewright.cluster._state import State
from kubewright.cluster.access import add_default_roles
from kubewright.cluster.classes import PRIORITY_CLASSES
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry._api_services import add_api_services

__all__ = ["NAMESPACES", "add_initial_objects", "publish_endpoint"]

NAMESPACES: Final = ("kube-system", "default", "kube-node-lease", "kube-public")
_UNREACHABLE: Final = "192.0.2.1"  # reserved for documentation; endpoints with a loopback address are invalid
_LOOPBACK: Final = "127.0.0.1"
_PORT: Final = 6443
_ENDPOINTS: Final = "/endpoints"
_SLICES: Final = "discovery.k8s.io/endpointslices"
_PRIORITIES: Final = "scheduling.k8s.io/priorityclasses"
_RANGES: Final = "networking.k8s.io/servicecidrs"


def add_initial_objects(state: State, *, rbac: bool = False) -> None:
    """Creates the initial objects that are missing. A snapshot may already contain them."""
    for name in NAMESPACES:
        _add(state, "/namespaces", _namespace(name))
    _add(state, _RANGES, _range(str(state.service_range), state.now()))
    _add(state, "/services", _service(str(state.service_range[1])))
    for storage, content in _endpoints(_UNREACHABLE, _PORT, state.now()).items():
        _add(state, storage, content)
    for name, content in PRIORITY_CLASSES.items():
        _add(state, _PRIORITIES, _priority_class(name, content, state.now()))
    add_api_services(state)
    if rbac:
        add_default_roles(state)


def publish_endpoint(state: State, host: str, port: int) -> None:
    """Writes the address of the server into the endpoints of the `kubernetes` Service.

    If the server listens on loopback, the endpoint keeps an unreachable address, because the real server accepts no
    loopback endpoints. Only a cluster whose pods are programs on this machine has the loopback address.
    """
    address = _advertised(host)
    if state.runs_pods and address == _UNREACHABLE:
        address = _LOOPBACK
    for storage, content in _endpoints(address, port, state.now()).items():
        found = state.storage.get(storage, "default", "kubernetes")
        if found is not None:
            state.storage.put(storage, {**found.decode(), **_without_metadata(content)}, found)
    service = state.storage.get("/services", "default", "kubernetes")
    if service is not None:
        obj = service.decode()
        ports = [{**each, "targetPort": port} if each.get("name") == "https" else each for each in obj["spec"]["ports"]]
        state.storage.put("/services", {**obj, "spec": {**obj["spec"], "ports": ports}}, service)


def _advertised(host: str) -> str:
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        return _UNREACHABLE
    return _UNREACHABLE if address.is_loopback or address.is_unspecified else host


def _without_metadata(content: JSONObject) -> JSONObject:
    return {name: value for name, value in content.items() if name != "metadata"}


def _add(state: State, storage: str, content: JSONObject) -> None:
    metadata = content["metadata"]
    place = (storage, metadata.get("namespace", ""), metadata["name"])
    if state.storage.get(*place) is None:
        made = {"uid": state.uid_of(*place), "creationTimestamp": state.now()}
        state.storage.put(storage, {**content, "metadata": {**metadata, **made}}, None)


def _managed(manager: str, version: str, now: str, fields: JSONObject, **more: Any) -> JSONObject:
    entry = {"manager": manager, "operation": "Update", "apiVersion": version, "time": now, "fieldsType": "FieldsV1"}
    return {**entry, "fieldsV1": fields, **more}


def _range(cidr: str, now: str) -> JSONObject:
    version, key = "networking.k8s.io/v1", 'k:{"type":"Ready"}'
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    owned: JSONObject = {".": {}, **{f"f:{name}": {} for name in sorted(condition) if name != "reason"}}
    fields = {"f:status": {"f:conditions": {key: owned}}}
    managed = [
        _managed("kube-apiserver", version, now, {"f:spec": {"f:cidrs": {}}}),
        _managed("kubernetes-service-cidr-controller", version, now, fields, operation="Apply", subresource="status"),
    ]
    return {
        "metadata": {"name": "kubernetes", "managedFields": managed},
        "spec": {"cidrs": [cidr]},
        "status": {"conditions": [condition]},
    }


def _priority_class(name: str, content: JSONObject, now: str) -> JSONObject:
    fields: JSONObject = {f"f:{field}": {} for field in sorted(content)}
    managed = [_managed("kube-apiserver", "scheduling.k8s.io/v1", now, fields)]
    return {"metadata": {"name": name, "generation": 1, "managedFields": managed}, **content}


def _endpoints(address: str, port: int, now: str) -> dict[str, JSONObject]:
    """Returns the Endpoints and the EndpointSlice of the `kubernetes` Service, by storage."""
    skip, service = "endpointslice.kubernetes.io/skip-mirror", "kubernetes.io/service-name"
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]

    def metadata(label: str, value: str, version: str, *fields: str) -> JSONObject:
        owned: JSONObject = {
            "f:metadata": {"f:labels": {".": {}, f"f:{label}": {}}},
            **{f"f:{name}": {} for name in fields},
        }
        managed = [_managed("kube-apiserver", version, now, dict(sorted(owned.items())))]
        return {"name": "kubernetes", "namespace": "default", "labels": {label: value}, "managedFields": managed}

    endpoints = {
        "metadata": metadata(skip, "true", "v1", "subsets"),
        "subsets": [{"addresses": [{"ip": address}], "ports": ports}],
    }
    sliced = metadata(service, "kubernetes", "discovery.k8s.io/v1", "addressType", "endpoints", "ports")
    slice_ = {
        "metadata": {**sliced, "generation": 1},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": ports,
    }
    return {_ENDPOINTS: endpoints, _SLICES: slice_}


def _namespace(name: str) -> JSONObject:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _service(address: str) -> JSONObject:
    return {
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": _PORT}],
            "clusterIP": address,
            "clusterIPs": [address],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    }
