"""`PodAddresses`: the IP addresses that fake nodes give to pods."""

from __future__ import annotations

import ipaddress
import zlib
from typing import Final, Self

__all__ = ["PodAddresses"]

_CLUSTER: Final = ipaddress.IPv4Network("10.244.0.0/16")
_NODES: Final = ipaddress.IPv4Network("10.128.0.0/9")
_NODE_PREFIX: Final = 20


class PodAddresses:
    """Allocates the addresses of one network in turn and skips those in use.

    The nodes of one cluster share an instance. A standalone node uses `of_node`: its network depends on the name of the
    node, so that independent nodes rarely allocate the same address.
    """

    def __init__(self, network: ipaddress.IPv4Network = _CLUSTER) -> None:
        self._network = network
        self._last = 0
        self._used: set[str] = set()

    @classmethod
    def of_node(cls, name: str) -> Self:
        """Returns the allocator of a single node."""
        count = 1 << (_NODE_PREFIX - _NODES.prefixlen)
        block = zlib.crc32(name.encode()) % count
        start = int(_NODES.network_address) + (block << (32 - _NODE_PREFIX))
        return cls(ipaddress.IPv4Network((start, _NODE_PREFIX)))

    def allocate(self) -> str:
        """Returns an address that no known pod has. Raises `RuntimeError` if all of them are in use."""
        hosts = self._network.num_addresses - 2  # without the network address and the broadcast address
        for _ in range(hosts):
            self._last = self._last % hosts + 1
            address = str(self._network[self._last])
            if address not in self._used:
                self._used.add(address)
                return address
        raise RuntimeError(f"all {hosts} pod addresses of {self._network} are in use")

    def mark_used(self, address: str) -> None:
        """Records the address of a pod that has one already."""
        self._used.add(address)

    def release(self, address: str) -> None:
        """Makes the address of a deleted pod available again."""
        self._used.discard(address)
