"""The objects that a cluster starts with: namespaces, the `kubernetes` Service, and with RBAC the default roles."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.access import add_default_roles
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["NAMESPACES", "add_initial_objects"]

NAMESPACES: Final = ("kube-system", "default", "kube-node-lease", "kube-public")
_SERVICE_ADDRESS: Final = "10.96.0.1"


def add_initial_objects(state: State, *, rbac: bool = False) -> None:
    """Creates the missing ones; a snapshot may contain them."""
    for name in NAMESPACES:
        _add(state, "/namespaces", _namespace(name))
    _add(state, "/services", _SERVICE)
    if rbac:
        add_default_roles(state)


def _add(state: State, storage: str, content: JSONObject) -> None:
    metadata = content["metadata"]
    if state.storage.get(storage, metadata.get("namespace", ""), metadata["name"]) is None:
        made = {"uid": state.uid(), "creationTimestamp": state.now()}
        state.storage.put(storage, {**content, "metadata": {**metadata, **made}}, None)


def _namespace(name: str) -> JSONObject:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


_SERVICE: Final[JSONObject] = {
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
        "clusterIP": _SERVICE_ADDRESS,
        "clusterIPs": [_SERVICE_ADDRESS],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    },
    "status": {"loadBalancer": {}},
}
