"""The embedded cluster: a Kubernetes API server in this process.

    async with Cluster() as cluster:
        client = cluster.client()

It starts in milliseconds and keeps objects in memory (optionally in a snapshot file). Clients in this process need no
socket; `Cluster.serve` opens a port with TLS for kubectl and other clients. Time and randomness are parameters
(`clock`, `seed`).

It answers like kube-apiserver of the same version: status codes, messages, metadata rules, managed fields, lists and
watches. The differential tests compare it with the real server, request by request. Unsupported requests are rejected
with status 501 and the reason; the server never accepts and ignores a feature.

The folders follow the path of a request: serving → dispatch → access → registry → admission → storage → watch. A folder
imports only those below it in this table (`tests/cluster/test_layers.py`):

| folder | responsibility |
|---|---|
| `serving` | receives requests: in-process transport, HTTP with TLS; reports a blocked event loop |
| `dispatch` | parses the request and calls the code of its verb |
| `discovery`, `audit` | discovery and OpenAPI documents; the audit log |
| `access` | authentication, impersonation, authorization (RBAC), tokens |
| `watch` | streams events from storage to clients |
| `registry` | get, list, create, update, patch, apply, delete; `strategies` and `validation` of built-in kinds |
| `output`, `conversion` | the negotiated response format; conversion between versions |
| `admission`, `webhooks` | the chain of admission plugins; calls to webhooks |
| `openapi` | OpenAPI documents of built-in and custom kinds |
| `storage` | objects, revisions, history, snapshots |
| `defaults`, `merge`, `schema` | pure functions: defaults, patches, managed fields, schemas |
| `machinery` | shared types: resource types, requests, responses, errors, codecs |

`machinery/_resources.py` is the contract between these folders: read it first.

Features are installed into a server and imported by none of the above: `crds` (CustomResourceDefinitions),
`kubelets` and `proxies` (requests that are forwarded to nodes, and to programs behind pods and Services),
`admission.webhooks`, `policies`, `pod_security` and `limits` (admission plugins), `protobuf`, `controllers`, `nodes`
and `workloads` (controllers that use the API), `services` (Services whose pods are programs on this machine), and
`laboratory` (fault injection).
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
_MODULES = {
    "Cluster": "_cluster",
    "ClusterError": "_cluster",
    "SnapshotError": "kubewright.cluster.storage._snapshot",
    "User": "kubewright.cluster.machinery._calls",
}

if not TYPE_CHECKING:  # so that type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
