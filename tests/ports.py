"""Ports for programs that cannot ask for any free port."""

from __future__ import annotations

import itertools
import os
import socket

__all__ = ["unused_port"]

# Below the range of ports that the kernel gives to outgoing connections and to servers on port 0, and above those of
# control planes. So another test takes such a port only if it asks here, and its process begins elsewhere.
_FIRST, _COUNT = 30_000, 2_768
_numbers = itertools.count(os.getpid() * 101)


def unused_port() -> int:
    """Returns a port on loopback that nothing uses. The next call returns another one."""
    for number in itertools.islice(_numbers, _COUNT):
        port = _FIRST + number % _COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))  # does not listen: nothing is reachable
            except OSError:
                continue
        return port
    raise AssertionError(f"no port from {_FIRST} to {_FIRST + _COUNT - 1} is free")
