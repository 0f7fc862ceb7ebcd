"""Features that the embedded cluster does not support. Such requests are rejected with the reason, never ignored."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import unsupported

__all__ = ["REFUSED_PAGES", "REFUSED_SUBRESOURCES", "REFUSED_WRITES", "check_supported"]

REFUSED_SUBRESOURCES: Final = {
    "attach": "attaching to pods: it runs no containers",
    "exec": "running commands in pods: it runs no containers",
    "log": "the logs of pods: it runs no containers",
    "portforward": "forwarding ports to pods: it runs no containers",
    "proxy": "proxying to nodes, and to pods that are not programs on this machine: it runs no containers",
    "resize": "resizing pods in place",
    "binding": "binding pods by the binding subresource: set spec.nodeName when you create the pod",
    "eviction": "evictions: delete the pod",
}
"""Unsupported subresources, with the reason."""

REFUSED_PAGES: Final = {
    "/debug": "profiles of the server",
    "/logs": "the logs of the server: its own go to the program that runs it",
    "/metrics": "metrics of the server",
}
"""Unsupported paths, with everything below them."""

_ADMISSION: Final = "admission: what is registered here would never be asked"
REFUSED_WRITES: Final = {
    "customresourcedefinitions.apiextensions.k8s.io": "custom resource definitions",
    "apiservices.apiregistration.k8s.io": "aggregated API servers: it does not forward requests to the Service of an "
    "APIService. The server creates the APIServices of its own group versions",
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _ADMISSION,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _ADMISSION,
    "validatingadmissionpolicies.admissionregistration.k8s.io": _ADMISSION,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _ADMISSION,
    "bindings": "binding pods: set spec.nodeName when you create the pod",
    "flowschemas.flowcontrol.apiserver.k8s.io": "priority and fairness of requests",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": "priority and fairness of requests",
}
"""Resources that cannot be written, with the reason. They can be read: there are no objects."""

_READS: Final = ("get", "list", "watch")


def check_supported(call: Call, supported: frozenset[str] = frozenset()) -> None:
    """Raises `Failure` for an unsupported request. `supported` names resources that other parts handle."""
    if call.subresource in REFUSED_SUBRESOURCES and f"{call.type.qualified}/{call.subresource}" not in supported:
        raise unsupported(REFUSED_SUBRESOURCES[call.subresource])
    if call.verb in _READS or call.type.custom:
        return
    reason = REFUSED_WRITES.get(call.type.qualified)
    if reason is not None and call.type.qualified not in supported:
        raise unsupported(reason)
