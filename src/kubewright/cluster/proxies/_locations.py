"""The destination of a proxied request: the address of a pod, or of a pod behind a Service."""

from __future__ import annotations

import ipaddress
from typing import Any

import msgspec

from kubewright.cluster._state import State
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, bad_request, not_found, unsupported
from kubewright.cluster.machinery._local_addresses import is_local
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._unsupported import REFUSED_SUBRESOURCES
from kubewright.cluster.services import shared_port

__all__ = ["Location", "location_of", "unavailable"]


class Location(msgspec.Struct, frozen=True):
    """A program that answers HTTP."""

    secure: bool
    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host and port, as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL without a path."""
        return f"{'https' if self.secure else 'http'}://{self.authority}"


def location_of(state: State, call: Call) -> Location:
    """Returns the program behind a pod or Service, named as `name`, `name:port` or `scheme:name:port`.

    Raises the failures of kube-apiserver, and a 501 for an address that does not belong to this machine.
    """
    what = call.type.kind.lower()
    parts = call.name.split(":")
    if len(parts) > 3:
        raise bad_request(f'invalid {what} request "{call.name}"')
    scheme = parts.pop(0) if len(parts) == 3 else ""
    name, port = parts[0], parts[1] if len(parts) > 1 else ""
    if not name or scheme not in ("", "http", "https"):
        raise bad_request(f'invalid {what} request "{call.name}"')
    host, number = (_of_pod if what == "pod" else _of_service)(state, call, name, port)
    if not is_local(host):
        raise unsupported(REFUSED_SUBRESOURCES["proxy"])
    return Location(scheme == "https", host, number or (443 if scheme == "https" else 80))


def unavailable(message: str) -> Failure:
    """Returns a 503."""
    return Failure(503, "ServiceUnavailable", message)


def _of_pod(state: State, call: Call, name: str, port: str) -> tuple[str, int]:
    pod = _get(state, call, "pods", name)
    if not port:
        ports = [each for container in pod["spec"]["containers"] for each in (container.get("ports") or ())[:1]]
        port = str(ports[0]["containerPort"]) if ports else ""
    addresses = (pod.get("status") or {}).get("podIPs") or ()
    host = addresses[0].get("ip", "") if addresses else ""
    if not _is_allowed(host, state):
        raise bad_request("address not allowed")
    if port and not (port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 2**16):
        raise unavailable(f"error trying to reach service: dial tcp: lookup tcp/{port}: unknown port")
    return host, _port_at(pod, host, int(port or 0))


def _of_service(state: State, call: Call, name: str, port: str) -> tuple[str, int]:
    if port.isascii() and port.isdigit():
        ports = _get(state, call, "services", name)["spec"].get("ports") or ()
        named = next((each for each in ports if str(each.get("port")) == port.lstrip("0")), None)
        if named is None:
            raise unavailable(f'no service port {port} found for service "{name}"')
        port = named.get("name") or ""
    subsets = _get(state, call, "endpoints", name).get("subsets") or ()
    if not subsets:
        raise unavailable(f'no endpoints available for service "{name}"')
    found = [
        (address["ip"], _port_at(pod, address["ip"], int(each["port"])))
        for subset in subsets
        for each in subset.get("ports") or ()
        if (each.get("name") or "") == port
        for address in subset.get("addresses") or ()
        if (pod := _pod_at(state, call, address)) is not None
    ]
    if not found:
        raise unavailable(f'no endpoints available for service "{call.name}"')
    return found[state.rng.randrange(len(found))] if len(found) > 1 else found[0]


def _pod_at(state: State, call: Call, address: JSONObject) -> JSONObject | None:
    """Returns the pod that has this address; None if there is none: no other address is proxied to."""
    target: dict[str, Any] = address.get("targetRef") or {}
    if target.get("namespace") != call.namespace:
        return None
    type_ = state.types.find("", "v1", "pods")
    assert type_ is not None
    found = state.storage.get(type_.storage, call.namespace, target.get("name", ""))
    if found is None:
        return None
    pod = decoded(type_, found)
    status: dict[str, Any] = pod.get("status") or {}
    return pod if any(each.get("ip") == address.get("ip") for each in status.get("podIPs") or ()) else None


def _port_at(pod: JSONObject, host: str, port: int) -> int:
    return shared_port(pod["metadata"].get("annotations"), host, port)


def _get(state: State, call: Call, plural: str, name: str) -> JSONObject:
    type_ = state.types.find("", "v1", plural)
    assert type_ is not None
    found = state.storage.get(type_.storage, call.namespace, name)
    if found is None:
        raise not_found(type_, name)
    return decoded(type_, found)


def _is_allowed(address: str, state: State) -> bool:
    """Returns whether an address is a global unicast address, as in Go, or a loopback one of pods on this machine."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if parsed.is_loopback:
        return state.runs_pods
    special = parsed.is_unspecified or parsed.is_multicast or parsed.is_link_local
    return not special and address != "255.255.255.255"
