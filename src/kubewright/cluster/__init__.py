"""The embedded cluster: a Kubernetes API server in this process.

    async with Cluster() as cluster:
        client = cluster.client()

It starts in milliseconds and keeps objects in memory (optionally in a snapshot file). Clients in this process need no
socket; `Cluster.serve` opens a port with TLS for kubectl and other clients. Time and randomness are parameters
(`clock`, `seed`).

It answers like kube-apiserver of the same version: status codes, messages, metadata rules, managed fields, lists and
watches. The differential tests compare it with the real server, request by request. Unsupported requests are rejected
with status 501 and the reason; the server never accepts and ignores a feature.

The folders follow the path of a request. Imports go only downwards in this table (`tests/cluster/test_layers.py`):

| folder | responsibility |
|---|---|
| `serving` | receives requests: in-process transport, HTTP with TLS |
| `access` | authentication, impersonation, authorization (RBAC), tokens |
| `dispatch` | parses the request and calls the code of its verb |
| `discovery`, `audit` | discovery and OpenAPI documents; the audit log |
| `admission`, `policies`, `limits` | admission: webhooks, policies, LimitRanges and quotas |
| `watch` | streams events to clients |
| `registry` | get, list, create, update, patch, apply, delete; `strategies` and `validation` of built-in kinds |
| `output` | the negotiated response format: object, metadata, Table |
| `conversion`, `webhooks` | conversion between versions; calls to webhooks |
| `storage` | objects, revisions, history, snapshots |
| `machinery` | shared types: resource types, requests, responses, errors, codecs |

`machinery/_resources.py` is the contract between these folders: read it first. Beside the path of a request are
`crds` (CustomResourceDefinitions), `schema`, `merge` and `defaults` (pure functions on objects), `protobuf`,
`controllers`, `nodes` and `workloads` (controllers, which use the API alone), and `laboratory` (fault injection).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster._cluster import Cluster, ClusterError
    from kubewright.cluster.machinery._calls import User
    from kubewright.cluster.storage._snapshot import SnapshotError

__all__ = ["Cluster", "ClusterError", "SnapshotError", "User"]

# Imported on first use: the pytest plugin and the command line need it only sometimes.
_HOMES = {
    "Cluster": "_cluster",
    "ClusterError": "_cluster",
    "SnapshotError": "kubewright.cluster.storage._snapshot",
    "User": "kubewright.cluster.machinery._calls",
}

if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _HOMES)
