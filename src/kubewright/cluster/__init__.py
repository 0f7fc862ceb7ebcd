"""The embedded cluster: a Kubernetes API server inside this process.

`Cluster` is one: `async with Cluster() as cluster: client = cluster.client()`. It starts in milliseconds, keeps objects
in memory (and, on request, in a snapshot file), and answers in-process clients without sockets; `serve` opens a port
with TLS for kubectl and every other client. Time and chance are parameters (`clock`, `seed`).

It is built to answer as the real kube-apiserver of the same version does: status codes, messages, metadata rules,
managed fields, lists and watches. The differential tests compare it with the real one, request by request. What it does
not support it refuses loudly, with status 501 and the reason; it never accepts something and ignores it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubewright.cluster._calls import User
    from kubewright.cluster._cluster import Cluster, ClusterError
    from kubewright.cluster._snapshot import SnapshotError

__all__ = ["Cluster", "ClusterError", "SnapshotError", "User"]

# Behind a door that opens on first use: pytest's plugin and the command line only sometimes need it.
_HOMES = {"Cluster": "_cluster", "ClusterError": "_cluster", "SnapshotError": "_snapshot", "User": "_calls"}


def __getattr__(name: str) -> Any:  # Any, because the names above have different types
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
