"""The cluster IPs and node ports of Services, and those that are free."""

from __future__ import annotations

import ipaddress
from typing import Final, TypeAlias

from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.storage._storage import Entry, Event

__all__ = ["ADDRESSES", "NODE_PORTS", "Allocations"]

ADDRESSES: Final = ipaddress.IPv4Network("10.96.0.0/16")
NODE_PORTS: Final = range(30000, 32768)
_CHOSEN_ADDRESSES: Final = 256  # users choose from the start of the range, so it is allocated last
_CHOSEN_PORTS: Final = 86

_Allocation: TypeAlias = str | int
"""A cluster IP or a node port."""


class Allocations:
    """Allocated cluster IPs and node ports, by the uid of their Service.

    Stored Services are known from storage events, so a Service releases its allocations when it is deleted or stored
    without them. Allocations for a write in progress are reserved until `release`, whether the write succeeds or not.
    Free ones are allocated in rotation, so that a released one is not reused immediately.
    """

    def __init__(self) -> None:
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

    def free_address(self, uid: str) -> str | None:
        """Reserves and returns a free cluster IP; None if there is none."""
        size = ADDRESSES.num_addresses
        for step in range(size):
            number = (self._next_address + step) % size
            address = str(ADDRESSES[number])
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
        return self._reserved.get(allocation) or self._stored.get(allocation)


def _held_by(entry: Entry) -> tuple[str, list[_Allocation]]:
    service: JSONObject = entry.decode()
    spec = service.get("spec") or {}
    places: list[_Allocation] = [address for address in spec.get("clusterIPs") or () if address != "None"]
    places += [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    if health := spec.get("healthCheckNodePort"):
        places.append(health)
    return service["metadata"]["uid"], places
