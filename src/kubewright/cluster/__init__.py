"""The embedded cluster: a Kubernetes API server inside this process.

`Cluster` is one: `async with Cluster() as cluster: client = cluster.client()`. It starts in milliseconds, keeps objects
in memory (and, on request, in a snapshot file), and answers in-process clients without sockets; `serve` opens a port
with TLS for kubectl and every other client. Time and chance are parameters (`clock`, `seed`).

It is built to answer as the real kube-apiserver of the same version does: status codes, messages, metadata rules,
managed fields, lists and watches. The differential tests compare it with the real one, request by request. What it does
not support it refuses loudly, with status 501 and the reason; it never accepts something and ignores it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster._cluster import Cluster, ClusterError
    from kubewright.cluster.machinery._calls import User
    from kubewright.cluster.storage._snapshot import SnapshotError

__all__ = ["Cluster", "ClusterError", "SnapshotError", "User"]

# Behind a door that opens on first use: pytest's plugin and the command line only sometimes need it.
_HOMES = {
    "Cluster": "_cluster",
    "ClusterError": "_cluster",
    "SnapshotError": "kubewright.cluster.storage._snapshot",
    "User": "kubewright.cluster.machinery._calls",
}

if not TYPE_CHECKING:  # who checks types is told of names that are not there
    __getattr__ = lazy_exports(__name__, _HOMES)
