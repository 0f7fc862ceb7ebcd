"""Events carry the name of the controller that tells them, as those of the real kube-controller-manager do."""

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
    "Job": "job-controller",
    "PersistentVolumeClaim": "persistentvolume-controller",
    "Pod": "taint-eviction-controller",
    "PodDisruptionBudget": "controllermanager",
    "ReplicaSet": "replicaset-controller",
    "StatefulSet": "statefulset-controller",
}
"""Who tells of a kind. In the real program each controller has a recorder; here they share that of the operator."""


class SigningTransport:
    """Passes requests on, and puts the controller's name on new events."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> Response:
        """One request, one answer."""
        if request.verb == "create" and request.resource == "events" and request.body:
            request = replace(request, body=_signed(request.body))
        return await self._inner.send(request)

    async def close(self) -> None:
        """Close what it passes requests to."""
        await self._inner.close()


def _signed(body: bytes) -> bytes:
    event = msgspec.json.decode(body)
    if event.get("reportingComponent") != MANAGER:  # but that of the scheduler, or of a kubelet
        return body
    name = _CONTROLLERS.get((event.get("involvedObject") or {}).get("kind", ""))
    if name is None:
        return body
    signed = {"source": {"component": name}, "reportingComponent": name, "reportingInstance": ""}
    return msgspec.json.encode(event | signed)
