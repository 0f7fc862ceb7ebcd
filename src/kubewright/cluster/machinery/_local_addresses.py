"""Whether an address belongs to this machine."""

from __future__ import annotations

import socket

__all__ = ["is_local"]


def is_local(address: str) -> bool:
    """Returns whether an address belongs to this machine: it can be bound, unlike those of simulated pods."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
