"""Failed sign-ins: each address waits longer after each of them."""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from kubewright.backoff import doubled
from kubewright.clock import Clock

__all__ = ["SignInThrottle"]

_FREE: Final = 5
_FIRST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 60.0
_FORGET_SECONDS: Final = 15 * 60.0
_ADDRESSES: Final = 10_000
_IPV6_PREFIX: Final = 64  # what one customer of a provider has


@dataclass
class _Failures:
    count: int = 0
    last: float = 0.0


class SignInThrottle:
    """Counts failed sign-ins per client address, and says how long an address has to wait.

    Five failures are free. Each further one doubles the delay, from 1 second to 1 minute. An address is forgotten
    15 minutes after its last failure. IPv6 addresses are counted by /64. Remembers the 10,000 addresses that failed
    last. A success does not reset the count: a client with one valid token could guess on otherwise.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def __len__(self) -> int:
        return len(self._failures)

    def delay(self, address: str) -> int:
        """Returns how many seconds this address has to wait before it may sign in; 0 if it may now."""
        found = self._failures.get(_network(address))
        if found is None or found.count <= _FREE:
            return 0
        delay = doubled(found.count - _FREE - 1, first=_FIRST_SECONDS, longest=_LONGEST_SECONDS)
        return max(0, math.ceil(found.last + delay - self._clock.monotonic()))

    def failed(self, address: str) -> None:
        """Counts a failed sign-in."""
        now, key = self._clock.monotonic(), _network(address)
        found = self._failures.get(key)
        if found is None or now > found.last + _FORGET_SECONDS:
            found = self._failures[key] = _Failures()
        found.count += 1
        found.last = now
        self._failures.move_to_end(key)
        while len(self._failures) > _ADDRESSES:
            self._failures.popitem(last=False)


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
