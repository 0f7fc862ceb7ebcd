"""`write_status`: patches the status of one pod."""

from __future__ import annotations

from collections.abc import Mapping

from kubewright.api import core
from kubewright.client import Client, Invalid, StrategicPatch
from kubewright.cluster.nodes._pod_status import Status

__all__ = ["write_status"]


async def write_status(
    client: Client, pod: core.Pod, status: Status, *, annotations: Mapping[str, str] | None = None
) -> core.Pod | None:
    """Patches the status, adds annotations, and returns the pod.

    Returns None if the pod was replaced by one of the same name.
    """
    metadata = pod.metadata
    more = {"annotations": dict(annotations)} if annotations else {}
    patch = StrategicPatch({"metadata": {"uid": metadata.uid, **more}, "status": status})
    try:
        return await client.patch(core.Pod, metadata.name, patch, metadata.namespace, subresource="status")
    except Invalid as error:
        # The patch would change the uid of the other pod, and the server says that it is immutable.
        if any(cause.field == "metadata.uid" for cause in error.causes):
            return None
        raise
