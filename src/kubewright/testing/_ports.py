"""Chooses free ports on loopback."""

from __future__ import annotations

import random
import socket

__all__ = ["free_port"]

# Below the ephemeral port range, so that a server that restarts or has not bound its port yet does not lose it to an
# outgoing connection.
_FIRST, _LAST = 15000, 29999
_random = random.SystemRandom()


def free_port() -> int:
    """Returns a port that was free a moment ago. Another process may take it first: retry with another port."""
    for _ in range(100):
        port = _random.randint(_FIRST, _LAST)
        if _is_free(port):
            return port
    with socket.socket() as anywhere:
        anywhere.bind(("127.0.0.1", 0))
        return int(anywhere.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
