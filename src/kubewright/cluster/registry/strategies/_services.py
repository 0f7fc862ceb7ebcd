"""The strategy of Services: allocates and releases cluster IPs and node ports."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kubewright.cluster._state import State
from kubewright.cluster.machinery._failures import internal
from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._resources import JSONObject, Strategy
from kubewright.cluster.registry.strategies._builtin import BuiltinStrategy
from kubewright.cluster.registry.strategies._service_addresses import (
    NODE_PORTS,
    AddressObjects,
    Allocations,
)
from kubewright.cluster.registry.strategies._specs import AddressRangeStrategy, EndpointAddressStrategy
from kubewright.cluster.registry.validation._services import balancer_errors, service_errors

__all__ = ["ServiceStrategy", "track_services"]

_NONE: Final = "None"
_FULL: Final = "range is full"
_WITH_ADDRESSES: Final = ("endpoints", "endpointslices", "servicecidrs")
_NOT_AN_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


class ServiceStrategy(BuiltinStrategy):
    """Services have a cluster IP, and node ports if their type needs them."""

    def __init__(self, api_version: str, kind: str, resource: str) -> None:
        super().__init__(api_version, kind, resource)
        self.allocations = Allocations()

    def prepare_create(self, obj: JSONObject) -> None:
        """Allocates cluster IP and node ports."""
        spec = obj["spec"]
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        if _addressed(spec):
            self._give_address(obj, obj["metadata"]["uid"])
        else:
            spec.pop("internalTrafficPolicy", None)
        self._give_ports(obj, {}, obj["metadata"]["uid"])

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Keeps allocations, and drops those that the new type does not use."""
        super().prepare_update(obj, old, subresource)
        if subresource:
            return
        spec, before, uid = obj["spec"], old["spec"], old["metadata"]["uid"]
        _keep(spec, before)
        if _addressed(spec):
            self._give_address(obj, uid)
        self._give_ports(obj, before, uid)
        _drop(spec, before)
        if spec.get("type") != "LoadBalancer" and (obj.get("status") or {}).get("loadBalancer"):
            obj["status"] = {**obj["status"], "loadBalancer": {}}

    def end_write(self, uid: str) -> None:
        """Releases the reservations of a write."""
        self.allocations.release(uid)

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Checks that addresses and ports are free, then validates the spec."""
        return self._allocation_errors(obj["spec"], obj["metadata"]["uid"]) or service_errors(obj["spec"])

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Validates the spec, unless a subresource is written; the cluster IP is immutable."""
        if subresource:
            return balancer_errors(obj, old)
        spec, before = obj["spec"], old["spec"]
        errors: list[FieldError] = []
        if not (_addressed(spec) and _addressed(before)) or spec.get("clusterIPs") == before.get("clusterIPs"):
            errors = self._allocation_errors(spec, old["metadata"]["uid"])
        elif _first(spec) != _first(before):
            errors = [invalid("spec.clusterIPs[0]", spec.get("clusterIPs"), "may not change once set")]
        return errors or service_errors(spec)

    def _give_address(self, obj: JSONObject, uid: str) -> None:
        spec = obj["spec"]
        address = _first(spec)
        if not address:
            address = self.allocations.free_address(uid)
            if address is None:
                raise internal(f'failed to allocate a serviceIP for Service "{obj["metadata"]["name"]}": {_FULL}')
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
        elif self.allocations.contains(address):
            self.allocations.reserve(address, uid)
        both = address == _NONE and not spec.get("selector")  # without a selector, the endpoints may have either family
        if ":" not in address:  # IPv6 is rejected
            spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if both else ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "RequireDualStack" if both else "SingleStack")

    def _give_ports(self, obj: JSONObject, before: JSONObject, uid: str) -> None:
        spec = obj["spec"]
        if not _on_nodes(spec):
            return
        ports = spec.get("ports") or ()
        for port in ports:
            if port.get("nodePort"):
                self.allocations.reserve(port["nodePort"], uid)
        wanted = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False
        # A new Service has one node port for both protocols of a port.
        known = {} if before else {port.get("port"): port["nodePort"] for port in ports if port.get("nodePort")}
        for port in ports if wanted else ():
            if not port.get("nodePort"):
                port["nodePort"] = known.get(port.get("port")) or self._free_port(uid)
                if not before:
                    known[port.get("port")] = port["nodePort"]
        if _checks_health(spec):
            if spec.get("healthCheckNodePort"):
                self.allocations.reserve(spec["healthCheckNodePort"], uid)
            else:
                spec["healthCheckNodePort"] = self._free_port(uid)

    def _free_port(self, uid: str) -> int:
        port = self.allocations.free_port(uid)
        if port is None:
            raise internal(f"failed to allocate a nodePort: {_FULL}")
        return port

    def _allocation_errors(self, spec: JSONObject, uid: str) -> list[FieldError]:
        """Returns an error for the first address or port that is not available."""
        if errors := _family_errors(spec):
            return errors
        address = _first(spec) if _addressed(spec) else _NONE
        if address != _NONE:
            if not _readable(address):
                return [invalid("spec.clusterIPs[0]", address, _NOT_AN_ADDRESS)]
            problem = ""
            if not self.allocations.contains(address):
                problem = "the provided network does not match the current range"
            elif not self.allocations.belongs(address, uid):
                problem = "provided IP is already allocated"
            if problem:
                why = f"failed to allocate IP {address}: {problem}"
                return [invalid("spec.clusterIPs", spec["clusterIPs"], why)]
        for index, port in enumerate(spec.get("ports") or () if _on_nodes(spec) else ()):
            if number := port.get("nodePort"):
                problem = ""
                if number not in NODE_PORTS:
                    valid = f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
                    problem = f"provided port is not in the valid range. The range of valid ports is {valid}"
                elif not self.allocations.belongs(number, uid):
                    problem = "provided port is already allocated"
                if problem:
                    return [invalid(f"spec.ports[{index}].nodePort", number, problem)]
        return []


def track_services(state: State) -> None:
    """Records the allocations of all Services, those of a snapshot and later ones, and maintains their IPAddresses."""
    type_ = state.types.find("", "v1", "services")
    assert type_ is not None
    assert isinstance(type_.strategy, ServiceStrategy)
    allocations, addresses = type_.strategy.allocations, AddressObjects(state)
    _set_range(state, allocations)
    allocations.exists = addresses.exists
    for entry in list(state.storage.entries(type_.storage)):
        allocations.remember(entry)
        addresses.ensure(entry)
    state.storage.subscribe(type_.storage, allocations)
    state.storage.subscribe(type_.storage, addresses)


def _set_range(state: State, allocations: Allocations) -> None:
    allocations.network = state.service_range
    for each in state.types:
        if each.plural in _WITH_ADDRESSES:
            each.make_strategy = partial(_for_range, each.make_strategy, state)


def _for_range(make: Callable[[], Strategy], state: State) -> Strategy:
    strategy = make()
    if isinstance(strategy, AddressRangeStrategy):
        strategy.network = state.service_range
    elif isinstance(strategy, EndpointAddressStrategy):
        strategy.allows_loopback = state.runs_pods
    return strategy


def _keep(spec: JSONObject, before: JSONObject) -> None:
    """Fills in earlier allocations that the update omits."""
    if _addressed(spec) and _addressed(before):
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    if spec.get("clusterIP") != before.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]] if spec.get("clusterIP") else None
    if not spec.get("clusterIPs"):
        spec.pop("clusterIPs", None)
    if _on_nodes(spec) and _on_nodes(before):
        used = _node_ports(spec) & _node_ports(before)
        known = {port.get("name"): port.get("nodePort") for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            number = known.get(port.get("name"))
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    if _checks_health(spec) and _checks_health(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort")


def _drop(spec: JSONObject, before: JSONObject) -> None:
    """Drops fields that the new type does not use, unless the update changed them: validation rejects those."""
    gone: list[str] = []
    if _addressed(before) and not _addressed(spec):
        if all(spec.get(field) == before.get(field) for field in ("clusterIP", "clusterIPs")):
            gone += ["clusterIP", "clusterIPs"]
        gone += ["ipFamilies", "ipFamilyPolicy"]
        spec.pop("internalTrafficPolicy", None)
    if _on_nodes(before) and not _on_nodes(spec) and _node_ports(spec) <= _node_ports(before):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if _checks_health(before) and not _checks_health(spec):
        gone.append("healthCheckNodePort")
    if before.get("type") == "LoadBalancer" != spec.get("type"):
        gone += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if _from_outside(before) and not _from_outside(spec):
        gone.append("externalTrafficPolicy")
    for field in gone:
        if field.startswith("clusterIP") or spec.get(field) == before.get(field):
            spec.pop(field, None)


def _family_errors(spec: JSONObject) -> list[FieldError]:
    """Returns the errors of IP families. Only IPv4 is supported; Services without a selector may have both."""
    addresses, families, policy = spec.get("clusterIPs") or (), spec.get("ipFamilies") or (), spec.get("ipFamilyPolicy")
    if not _addressed(spec) or (_first(spec) == _NONE and not spec.get("selector")):
        return []
    errors: list[FieldError] = []
    if policy == "SingleStack":
        for what, values in (("cluster IPs", addresses), ("IP families", families)):
            if len(values) == 2:
                text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                errors.append(invalid("spec.ipFamilyPolicy", policy, text))
    for index, address in enumerate(addresses):
        if index >= len(families) and ":" in address:
            errors.append(invalid(f"spec.clusterIPs[{index}]", addresses, "IPv6 is not configured on this cluster"))
    if errors:
        return errors
    if policy == "RequireDualStack":
        errors.append(invalid("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services"))
    wrong = [(index, family) for index, family in enumerate(families) if family != "IPv4"]
    return errors + [invalid(f"spec.ipFamilies[{i}]", name, "not configured on this cluster") for i, name in wrong]


def _addressed(spec: JSONObject) -> bool:
    return spec.get("type") != "ExternalName"


def _on_nodes(spec: JSONObject) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _from_outside(spec: JSONObject) -> bool:
    return _on_nodes(spec) or (spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs")))


def _checks_health(spec: JSONObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _node_ports(spec: JSONObject) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _first(spec: JSONObject) -> Any:
    """Returns the cluster IP in the form of `clusterIPs`."""
    return (spec.get("clusterIPs") or [spec.get("clusterIP") or ""])[0]


def _readable(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True
