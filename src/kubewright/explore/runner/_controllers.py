"""Selects the cluster's controllers that a run needs, because each of them takes time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

__all__ = ["controllers_for", "resource_of"]

_NEEDED: Final = {
    "deployments.apps": ("deployments", "replicasets"),
    "replicasets.apps": ("replicasets",),
    "replicationcontrollers": ("replicasets",),
    "statefulsets.apps": ("statefulsets", "volumes"),
    "daemonsets.apps": ("daemonsets",),
    "jobs.batch": ("jobs", "job-pods"),
    "cronjobs.batch": ("cronjobs", "jobs", "job-pods"),
    "persistentvolumeclaims": ("volumes",),
    "persistentvolumes": ("volumes",),
    "endpoints": ("endpoints", "endpoints-mirroring"),
    "endpointslices.discovery.k8s.io": ("endpoints", "endpoints-mirroring"),
    "nodes": ("nodes",),
    "poddisruptionbudgets.policy": ("disruptions",),
}


def controllers_for(resources: Iterable[str]) -> frozenset[str]:
    """Returns the controllers that act on the objects of some resources, or write them."""
    return frozenset(name for resource in resources for name in _NEEDED.get(resource, ()))


def resource_of(obj: dict[str, Any]) -> str:
    """Returns the resource of an object of a built-in kind; a wrong one for an irregular plural."""
    group, slash, _ = obj["apiVersion"].partition("/")
    plural = obj["kind"].lower()
    plural = plural if plural.endswith("s") else f"{plural}s"
    return f"{plural}.{group}" if slash else plural
