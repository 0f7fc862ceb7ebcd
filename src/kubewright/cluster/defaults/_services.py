"""Defaults of Services and their endpoints."""

from __future__ import annotations

from kubewright.cluster.defaults._fill import each, part, put
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["endpoint_slice", "endpoints", "service"]

_STICKY_SECONDS = 10800


def service(obj: JSONObject) -> None:
    """Sets the defaults of a Service: ClusterIP, no affinity, target port equal to port."""
    spec = part(obj, "spec")
    put(spec, sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        put(part(part(spec, "sessionAffinityConfig"), "clientIP"), timeoutSeconds=_STICKY_SECONDS)
    for port in each(spec, "ports"):
        put(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] in ("NodePort", "LoadBalancer"):
        put(spec, externalTrafficPolicy="Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer", "ClusterIP"):
        put(spec, internalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        put(spec, allocateLoadBalancerNodePorts=True)


def endpoints(obj: JSONObject) -> None:
    """Defaults the protocol of ports to TCP."""
    for subset in each(obj, "subsets"):
        for port in each(subset, "ports"):
            put(port, protocol="TCP")


def endpoint_slice(obj: JSONObject) -> None:
    """Defaults the names of ports to "" and their protocol to TCP."""
    for port in each(obj, "ports"):
        put(port, protocol="TCP")
        if port.get("name") is None:
            port["name"] = ""
