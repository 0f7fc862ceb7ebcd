"""The cluster IPs and node ports of Services, those that are free, and the IPAddress of each cluster IP."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Final, TypeAlias

from kubewright.cluster._state import SERVICE_RANGE, State
from kubewright.cluster.machinery._authors import writing_as
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.storage._storage import Entry, Event

__all__ = ["NODE_PORTS", "AddressObjects", "Allocations"]

NODE_PORTS: Final = range(30000, 32768)
_CHOSEN_ADDRESSES: Final = 256  # users choose from the start of the range, so it is allocated last
_CHOSEN_PORTS: Final = 86

_IP_ADDRESSES: Final = "networking.k8s.io/ipaddresses"
_FOREIGN: Final = "another object"

_Allocation: TypeAlias = str | int
"""A cluster IP or a node port."""


class Allocations:
    """Allocated cluster IPs and node ports, by the uid of their Service.

    Stored Services are known from storage events, so a Service releases its allocations when it is deleted or stored
    without them. Allocations for a write in progress are reserved until `release`, whether the write succeeds or not.
    Free ones are allocated in rotation, so that a released one is not reused immediately. `exists` says whether an
    IPAddress of that name exists, which may belong to another object. `network` is the range of cluster IPs.
    """

    def __init__(self) -> None:
        self.network = SERVICE_RANGE
        self.exists: Callable[[str], bool] = lambda address: False
        self._stored: dict[_Allocation, str] = {}
        self._reserved: dict[_Allocation, str] = {}
        self._next_address = _CHOSEN_ADDRESSES + 1
        self._next_port = _CHOSEN_PORTS

    def offer(self, event: Event) -> None:
        """Handles the write or delete of a Service."""
        if event.previous is not None:
            uid, places = _held_by(event.previous)
            for allocation in places:
                if self._stored.get(allocation) == uid:
                    del self._stored[allocation]
        if event.kind != "DELETED":
            self.remember(event.entry)

    def remember(self, entry: Entry) -> None:
        """Records the allocations of a stored Service."""
        uid, places = _held_by(entry)
        self._stored.update(dict.fromkeys(places, uid))

    def reserve(self, allocation: _Allocation, uid: str) -> None:
        """Reserves an address or port for a Service until its write ends, unless another Service has it."""
        if self._holder(allocation) is None:
            self._reserved[allocation] = uid

    def belongs(self, allocation: _Allocation, uid: str) -> bool:
        """Returns whether that Service has the address or port, or has reserved it."""
        return self._holder(allocation) == uid

    def release(self, uid: str) -> None:
        """The write of a Service has ended: only stored allocations remain."""
        self._reserved = {allocation: holder for allocation, holder in self._reserved.items() if holder != uid}

    def contains(self, address: str) -> bool:
        """Returns whether a string is an address in the range of cluster IPs."""
        try:
            return ipaddress.ip_address(address) in self.network
        except ValueError:
            return False

    def free_address(self, uid: str) -> str | None:
        """Reserves and returns a free cluster IP; None if there is none."""
        size = self.network.num_addresses
        for step in range(size):
            number = (self._next_address + step) % size
            address = str(self.network[number])
            if number not in (0, size - 1) and self._holder(address) is None:
                self._next_address = number + 1
                self._reserved[address] = uid
                return address
        return None

    def free_port(self, uid: str) -> int | None:
        """Reserves and returns a free node port; None if there is none."""
        for step in range(len(NODE_PORTS)):
            index = (self._next_port + step) % len(NODE_PORTS)
            if self._holder(port := NODE_PORTS[index]) is None:
                self._next_port = index + 1
                self._reserved[port] = uid
                return port
        return None

    def _holder(self, allocation: _Allocation) -> str | None:
        holder = self._reserved.get(allocation) or self._stored.get(allocation)
        if holder is None and isinstance(allocation, str) and self.exists(allocation):
            return _FOREIGN
        return holder


class AddressObjects:
    """Creates the IPAddress of each cluster IP of a stored Service, and deletes it with the Service.

    An IPAddress that a user deleted returns with the next write of its Service, as the real server's repair does.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def offer(self, event: Event) -> None:
        """Handles the write or delete of a Service."""
        with writing_as():
            kept = set() if event.kind == "DELETED" else self.ensure(event.entry)
            if event.previous is not None:
                for address in sorted(_addresses_of(event.previous) - kept):
                    self._delete(address, event.previous)

    def ensure(self, entry: Entry) -> set[str]:
        """Creates the missing IPAddresses of a Service. Returns its addresses."""
        addresses = _addresses_of(entry)
        for address in sorted(addresses):
            if self._state.storage.get(_IP_ADDRESSES, "", address) is None:
                self._state.storage.put(_IP_ADDRESSES, self._made(address, entry), None)
        return addresses

    def exists(self, address: str) -> bool:
        """Returns whether an IPAddress has this name."""
        return self._state.storage.get(_IP_ADDRESSES, "", address) is not None

    def _delete(self, address: str, service: Entry) -> None:
        found = self._state.storage.get(_IP_ADDRESSES, "", address)
        if found is None:
            return
        obj = found.decode()
        parent = (obj.get("spec") or {}).get("parentRef") or {}
        if (parent.get("resource"), parent.get("namespace"), parent.get("name")) == _reference(service):
            self._state.storage.delete(_IP_ADDRESSES, obj, found)

    def _made(self, address: str, service: Entry) -> JSONObject:
        now = self._state.now()
        labels = {
            "ipaddress.kubernetes.io/ip-family": "IPv6" if ":" in address else "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }
        parent = dict(zip(("resource", "namespace", "name"), _reference(service), strict=True))
        fields: JSONObject = {
            "f:metadata": {"f:labels": {".": {}, **{f"f:{name}": {} for name in labels}}},
            "f:spec": {"f:parentRef": {".": {}, **{f"f:{name}": {} for name in sorted(parent)}}},
        }
        managed = {
            "manager": "kube-apiserver",
            "operation": "Update",
            "apiVersion": "networking.k8s.io/v1",
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        metadata = {
            "name": address,
            "uid": self._state.uid_of(_IP_ADDRESSES, "", address),
            "creationTimestamp": now,
            "labels": labels,
            "managedFields": [managed],
        }
        return {"apiVersion": "networking.k8s.io/v1", "metadata": metadata, "spec": {"parentRef": parent}}


def _reference(service: Entry) -> tuple[str, str, str]:
    return "services", service.namespace, service.name


def _addresses_of(entry: Entry) -> set[str]:
    given = (entry.decode().get("spec") or {}).get("clusterIPs") or ()
    return {address for address in given if address != "None"}


def _held_by(entry: Entry) -> tuple[str, list[_Allocation]]:
    service: JSONObject = entry.decode()
    spec = service.get("spec") or {}
    places: list[_Allocation] = [address for address in spec.get("clusterIPs") or () if address != "None"]
    places += [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    if health := spec.get("healthCheckNodePort"):
        places.append(health)
    return service["metadata"]["uid"], places
