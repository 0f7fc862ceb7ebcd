"""The two ways into the server: a transport for clients in this process, and HTTP with TLS on a port.

`LIMITS` and `MAX_BODY_BYTES` bound what a client of the port can make the server hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.serving._server import LIMITS, MAX_BODY_BYTES

__all__ = [
    "LIMITS",
    "MAX_BODY_BYTES",
]

_MODULES = {
    "LIMITS": "_server",
    "MAX_BODY_BYTES": "_server",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
