"""Sets the reporting controller of events, like the recorders of kube-controller-manager."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from kubewright.client import Request, Response, Transport
from kubewright.cluster.workloads._workloads import MANAGER

__all__ = ["SigningTransport"]

_CONTROLLERS: Final = {
    "CronJob": "cronjob-controller",
    "DaemonSet": "daemonset-controller",
    "Deployment": "deployment-controller",
    "Endpoints": "endpoint-slice-mirroring-controller",
    "Job": "job-controller",
    "PersistentVolumeClaim": "persistentvolume-controller",
    "Pod": "taint-eviction-controller",
    "PodDisruptionBudget": "controllermanager",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "StatefulSet": "statefulset-controller",
}
"""The controller that reports events of a kind. The real one has a recorder per controller; here they share one."""


class SigningTransport:
    """A transport that sets the controller's name in new events."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> Response:
        """Sends a request."""
        if request.verb == "create" and request.resource == "events" and request.body:
            request = replace(request, body=_signed(request.body))
        return await self._inner.send(request)

    async def close(self) -> None:
        """Closes the inner transport."""
        await self._inner.close()


def _signed(body: bytes) -> bytes:
    event = msgspec.json.decode(body)
    if event.get("reportingComponent") != MANAGER:  # events of the scheduler or a kubelet stay unchanged
        return body
    name = _CONTROLLERS.get((event.get("involvedObject") or {}).get("kind", ""))
    if name is None:
        return body
    signed = {"source": {"component": name}, "reportingComponent": name, "reportingInstance": ""}
    return msgspec.json.encode(event | signed)
