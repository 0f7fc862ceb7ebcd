"""Loopback addresses (127.x.y.z) for the pods and Services of a cluster on this machine."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import random
import socket
from collections.abc import Callable
from typing import Final, Self, TypeAlias

from kubewright.cluster.services._shared_ports import SHARED_ADDRESS

__all__ = ["LoopbackAddresses", "LoopbackBlock", "NoLoopback"]

Bind: TypeAlias = Callable[[str, int], socket.socket]
"""Binds a UDP socket to an address and a port. Raises OSError."""

_PODS: Final = ipaddress.IPv4Network("127.128.0.0/9")
_POD_PREFIX: Final = 22
_SERVICES: Final = ipaddress.IPv4Network("127.32.0.0/11")
_SERVICE_PREFIX: Final = 20
_CLAIM_PORT: Final = 19531  # of UDP; below the ports that systems choose
_MAX_TRIES: Final = 4096


class NoLoopback(OSError):
    """This machine has no loopback address but 127.0.0.1, as macOS without aliases."""


class LoopbackBlock:
    """A network of loopback addresses that belongs to this process until `close`, also if it is killed.

    A UDP socket at the first address of the network claims it: other clusters on this machine choose another one.
    """

    def __init__(self, network: ipaddress.IPv4Network, claim: socket.socket) -> None:
        self.network = network
        self._claim = claim

    @classmethod
    def for_services(cls, network: str | None = None, *, bind: Bind | None = None) -> Self:
        """Claims a range of cluster IPs: this one, or any that is free.

        Raises `NoLoopback` if this machine has no such addresses, OSError if another cluster has claimed the range.
        """
        if network is not None:
            return cls._claimed(ipaddress.IPv4Network(network), bind or _bind_udp)
        return cls._free(_SERVICES, _SERVICE_PREFIX, bind or _bind_udp)

    @classmethod
    def for_pods(cls, *, bind: Bind | None = None) -> Self:
        """Claims a free network of pod addresses. Raises `NoLoopback`."""
        return cls._free(_PODS, _POD_PREFIX, bind or _bind_udp)

    def close(self) -> None:
        """Makes the network available to other clusters."""
        self._claim.close()

    @classmethod
    def _free(cls, parent: ipaddress.IPv4Network, prefix: int, bind: Bind) -> Self:
        count = 1 << (prefix - parent.prefixlen)
        # Begins anywhere, so that clusters that start at the same time rarely try the same network.
        first = random.SystemRandom().randrange(count)
        for step in range(min(count, _MAX_TRIES)):
            start = int(parent.network_address) + ((first + step) % count << (32 - prefix))
            try:
                return cls._claimed(ipaddress.IPv4Network((start, prefix)), bind)
            except NoLoopback:
                raise
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        raise OSError(
            errno.EADDRINUSE,
            f"all loopback networks of {parent} are claimed; does another program use UDP port {_CLAIM_PORT}?",
        )

    @classmethod
    def _claimed(cls, network: ipaddress.IPv4Network, bind: Bind) -> Self:
        try:
            return cls(network, bind(str(network[1]), _CLAIM_PORT))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise NoLoopback(error.errno, f"{network[1]} cannot be bound on this machine") from None
            raise


class LoopbackAddresses:
    """Allocates the addresses of process pods.

    Each pod has its own address, which no other cluster on this machine uses, as long as addresses other than 127.0.0.1
    can be bound. Otherwise all pods share 127.0.0.1 (`shared`): give them ports with `PodPorts`.
    """

    def __init__(self, *, bind: Bind | None = None) -> None:
        self._block: LoopbackBlock | None = None
        with contextlib.suppress(NoLoopback):
            self._block = LoopbackBlock.for_pods(bind=bind)
        self._last = 1  # the first address holds the claim
        self._used: set[str] = set()

    @property
    def shared(self) -> bool:
        """Whether all pods have the address 127.0.0.1."""
        return self._block is None

    def allocate(self) -> str:
        """Returns an address that no known pod has; 127.0.0.1 if pods share it.

        Raises `RuntimeError` if all of them are in use.
        """
        if self._block is None:
            return SHARED_ADDRESS
        network = self._block.network
        first, last = 2, network.num_addresses - 2
        for _ in range(first, last + 1):
            self._last = self._last + 1 if self._last < last else first
            address = str(network[self._last])
            if address not in self._used:
                self._used.add(address)
                return address
        raise RuntimeError(f"all {last - first + 1} pod addresses of {network} are in use")

    def keep(self, address: str) -> bool:
        """Records the address of a pod that has one already. Returns whether the pod can keep it.

        It cannot if the address is from the network of a former node, which may belong to another cluster now.
        """
        if self._block is None:
            return address == SHARED_ADDRESS
        try:
            kept = ipaddress.IPv4Address(address) in self._block.network
        except ValueError:  # not IPv4
            return False
        if kept:
            self._used.add(address)
        return kept

    def release(self, address: str) -> None:
        """Makes the address of a deleted pod available again."""
        self._used.discard(address)

    def close(self) -> None:
        """Makes the network available to other clusters."""
        if self._block is not None:
            self._block.close()


def _bind_udp(address: str, port: int) -> socket.socket:
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind((address, port))
    except OSError:
        claim.close()
        raise
    return claim
