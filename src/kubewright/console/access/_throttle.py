"""`SignInThrottle`: delays client addresses whose sign-ins fail."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from typing import Final

from kubewright.backoff import doubled
from kubewright.clock import Clock
from kubewright.lru import LRUMemory

__all__ = ["FIRST_SECONDS", "FREE_FAILURES", "LONGEST_SECONDS", "SignInThrottle"]

FREE_FAILURES: Final = 5
FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 60.0
_FORGET_SECONDS: Final = 15 * 60.0
_ADDRESSES: Final = 10_000
_IPV6_PREFIX: Final = 64  # the usual allocation for one customer


@dataclass
class _Failures:
    count: int = 0
    last: float = 0.0


class SignInThrottle:
    """Counts failed sign-ins per client address, and computes how long an address has to wait.

    The first five failures cause no delay. Each further one doubles the delay, from 1 second to 1 minute. An address is
    forgotten 15 minutes after its last failure. IPv6 addresses are counted by /64. The throttle remembers the 10,000
    addresses that failed most recently. A success does not reset the count; otherwise a client with one valid token
    could keep guessing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: LRUMemory[str, _Failures] = LRUMemory(_ADDRESSES)

    def __len__(self) -> int:
        return len(self._failures)

    def delay(self, address: str) -> int:
        """Returns how many seconds this address must wait before its next sign-in; 0 if it may sign in now."""
        found = self._failures.peek(_network(address))
        if found is None or found.count <= FREE_FAILURES:
            return 0
        delay = doubled(found.count - FREE_FAILURES - 1, first=FIRST_SECONDS, longest=LONGEST_SECONDS)
        return max(0, math.ceil(found.last + delay - self._clock.monotonic()))

    def failed(self, address: str) -> None:
        """Counts a failed sign-in."""
        now, key = self._clock.monotonic(), _network(address)
        found = self._failures.peek(key)
        if found is None or now > found.last + _FORGET_SECONDS:
            found = _Failures()
        found.count += 1
        found.last = now
        self._failures.put(key, found)


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _IPV6_PREFIX), strict=False))
