"""`ProcessRunner`: the pods of a node that are processes, for the node and for its streaming endpoints."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

from kubewright.api import core
from kubewright.cluster.processes._container import ContainerWorker
from kubewright.cluster.processes._context import NodeContext
from kubewright.cluster.processes._pod import PodWorker
from kubewright.http import ConnectionStream
from kubewright.kubelet import FEATURES, LogOptions, RuntimeFailure, SessionProcess

__all__ = ["ProcessRunner"]

_TERMINAL: Final = ("Succeeded", "Failed")
_UNMAPPED: Final = 1000
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


class ProcessRunner:
    """Implements `PodRunner` for the node, and `PodRuntime` for logs, exec, attach and port-forwarding."""

    def __init__(self, node: NodeContext) -> None:
        self._node = node
        self._pods: dict[str, PodWorker] = {}
        self._unmapped: dict[str, None] = {}
        self.folder: Path | None = None
        self.port: int | None = None

    # PodRunner

    def notice(self, pod: core.Pod) -> bool:
        """Takes pods with a mapped image. Reports others once: they are simulated."""
        uid = pod.metadata.uid
        if (worker := self._pods.get(uid)) is not None:
            worker.update(pod)
            return True
        every = [*(pod.spec.init_containers or ()), *pod.spec.containers]
        unmapped = [each.image or "" for each in every if self._node.images.find(each.image) is None]
        if len(unmapped) == len(every):
            self._report_unmapped(pod, unmapped)
            return False
        assert self.folder is not None
        worker = self._pods[uid] = PodWorker(self._node, pod, self.folder / "pods" / uid)
        if pod.status.phase in _TERMINAL and pod.metadata.deletion_timestamp is None:
            return True
        if pod.metadata.deletion_timestamp is None:
            worker.start()
        worker.update(pod)
        return True

    def forget(self, uid: str) -> None:
        """Kills the processes of a pod that no longer exists."""
        self._unmapped.pop(uid, None)
        if (worker := self._pods.pop(uid, None)) is not None:
            worker.abort()

    def node_status(self) -> dict[str, Any]:
        """Returns the address and port of the streaming endpoints."""
        status: dict[str, Any] = {
            "addresses": [
                {"type": "InternalIP", "address": self._node.host_address},
                {"type": "Hostname", "address": self._node.name},
            ],
            "nodeInfo": {
                "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
                "containerRuntimeVersion": "process://1",
                "kernelVersion": platform.release(),
                "operatingSystem": platform.system().lower(),
                "osImage": platform.platform(terse=True),
            },
        }
        if self.port is not None:
            status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": self.port}}
            status["declaredFeatures"] = list(FEATURES)
        return status

    def _report_unmapped(self, pod: core.Pod, images: Sequence[str]) -> None:
        if pod.metadata.uid in self._unmapped or pod.status.phase in _TERMINAL:
            return
        while len(self._unmapped) >= _UNMAPPED:
            del self._unmapped[next(iter(self._unmapped))]
        self._unmapped[pod.metadata.uid] = None
        listed = ", ".join(f'"{image}"' for image in dict.fromkeys(images))
        text = f"No image is mapped to a program: {listed}; the pod is simulated. Add one to the mapping of images"
        self._node.events.about(pod, "ImageNotMapped", text)

    def kill(self, pod: str, namespace: str) -> bool:
        """Kills the main processes of a pod. Returns False if the pod is simulated or unknown."""
        try:
            workers = self._pod(namespace, pod).workers.values()
        except RuntimeFailure:
            return False
        for worker in workers:
            if worker.launched is not None:
                worker.launched.main.kill()
        return True

    async def stop(self, grace: float) -> None:
        """Ends all processes: with SIGTERM, and after `grace` seconds with SIGKILL."""
        for pod in self._pods.values():
            pod.leave()
        workers = [worker for pod in self._pods.values() for worker in pod.workers.values()]
        await asyncio.gather(*(worker.stop(grace, quiet=True) for worker in workers), return_exceptions=True)

    # PodRuntime

    def _worker(self, namespace: str, pod: str, container: str) -> ContainerWorker:
        found = self._pod(namespace, pod).workers.get(container)
        if found is None:
            raise RuntimeFailure(f'container "{container}" not found in pod "{pod}_{namespace}"', status=404)
        return found

    def _pod(self, namespace: str, name: str) -> PodWorker:
        for worker in self._pods.values():
            if (worker.pod.metadata.namespace, worker.pod.metadata.name) == (namespace, name):
                return worker
        raise RuntimeFailure(f'pod "{name}_{namespace}" is not run by this node: its images are not mapped', status=404)

    def logs(
        self, namespace: str, pod: str, container: str, options: LogOptions, *, previous: bool
    ) -> AsyncIterator[bytes]:
        """See `PodRuntime`."""
        state = self._worker(namespace, pod, container).state
        output = state.previous_output if previous else state.output
        if output is None and previous:
            text = f'previous terminated container "{container}" in pod "{pod}" not found'
            raise RuntimeFailure(text, status=400)
        if output is None:
            why = state.waiting[0] if state.running_since is None and state.terminated is None else "simulated"
            text = f'container "{container}" in pod "{pod}" is waiting to start: {why}'
            raise RuntimeFailure(text, status=400)
        return output.log.read(options)

    async def exec(
        self, namespace: str, pod: str, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> SessionProcess:
        """See `PodRuntime`."""
        return await self._worker(namespace, pod, container).execute(command, stdin=stdin, tty=tty)

    async def attach(self, namespace: str, pod: str, container: str, *, stdin: bool, tty: bool) -> SessionProcess:
        """See `PodRuntime`."""
        worker = self._worker(namespace, pod, container)
        if worker.launched is None or worker.state.output is None:
            raise RuntimeFailure(f'container "{container}" in pod "{pod}" is not running', status=400)
        return worker.state.output.attach()

    async def connect(self, namespace: str, pod: str, port: int) -> ConnectionStream:
        """See `PodRuntime`. Reaches programs that listen on the pod's address or on all addresses."""
        worker = self._pod(namespace, pod)
        return await ConnectionStream.connect(worker.state.address, worker.ports.get(port, port))
