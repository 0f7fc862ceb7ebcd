"""`write_status`: patches the status of one pod."""

from __future__ import annotations

from kubewright.api import core
from kubewright.client import Client, StrategicPatch
from kubewright.cluster.nodes._pod_status import Status

__all__ = ["write_status"]


async def write_status(client: Client, pod: core.Pod, status: Status) -> core.Pod:
    """Patches the status and returns the pod. Raises `Conflict` if the pod was replaced by one of the same name."""
    metadata = pod.metadata
    patch = StrategicPatch({"metadata": {"uid": metadata.uid}, "status": status})
    return await client.patch(core.Pod, metadata.name, patch, metadata.namespace, subresource="status")
