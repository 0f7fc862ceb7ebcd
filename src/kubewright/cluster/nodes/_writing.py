"""`write_status`: patch the status of a pod, and of that pod alone."""

from __future__ import annotations

from kubewright.api import core
from kubewright.client import Client, StrategicPatch
from kubewright.cluster.nodes._pod_status import Status

__all__ = ["write_status"]


async def write_status(client: Client, pod: core.Pod, status: Status) -> core.Pod:
    """The pod as it is then. A new pod of the same name is not touched: that is a `Conflict`, by the uid."""
    metadata = pod.metadata
    patch = StrategicPatch({"metadata": {"uid": metadata.uid}, "status": status})
    return await client.patch(core.Pod, metadata.name, patch, metadata.namespace, subresource="status")
