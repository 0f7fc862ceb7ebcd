"""The ports of pods that share 127.0.0.1, as an annotation of the pod says. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["MAX_PORTS", "PORTS_ANNOTATION", "SHARED_ADDRESS", "shared_port"]

PORTS_ANNOTATION: Final = "pods.kubewright.dev/ports"
"""The ports of a pod that shares 127.0.0.1: `8080=49152,8443=49153`. The node that runs it writes them."""

SHARED_ADDRESS: Final = "127.0.0.1"
MAX_PORTS: Final = 256


def shared_port(annotations: Mapping[str, str] | None, address: str, port: int) -> int:
    """Returns the port of this machine for a container port of a pod: another one only if pods share an address.

    Invalid annotations have no effect.
    """
    if address != SHARED_ADDRESS:
        return port
    for pair in (annotations or {}).get(PORTS_ANNOTATION, "").split(",")[:MAX_PORTS]:
        name, _, number = pair.partition("=")
        if name == str(port) and number.isascii() and number.isdigit() and 0 < int(number[:6]) < 2**16:
            return int(number[:6])
    return port
