"""Events of schedulers and kubelets about pods, with the reasons, types and messages of Kubernetes 1.36.

`SchedulerEvents` and `KubeletEvents` do not wait: event recorders write, count repeated events, and aggregate similar
ones.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from kubewright.api import core
from kubewright.client import Client
from kubewright.clock import Clock
from kubewright.events import EventRecorder, EventType, object_reference

__all__ = ["KubeletEvents", "SchedulerEvents", "duration", "unschedulable_message"]

_SCHEDULER: Final = "default-scheduler"
_KUBELET: Final = "kubelet"
_NO_VICTIMS: Final = "No preemption victims found for incoming pod"
_NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"


class SchedulerEvents:
    """The events of a scheduler. Use it with `start` and `close`."""

    def __init__(self, client: Client, nodes: Sequence[str], clock: Clock) -> None:
        instance = "-".join((_SCHEDULER, *nodes[:1]))
        self._recorder = EventRecorder(client, _SCHEDULER, instance=instance, clock=clock, rng=_generator_for(instance))

    def start(self) -> None:
        """Starts the recorder."""
        self._recorder.start()

    async def close(self) -> None:
        """Writes pending events for a short time, and stops."""
        await self._recorder.close()

    def scheduled(self, pod: core.Pod, node: str) -> None:
        """Records that the pod was bound to the node."""
        message = f"Successfully assigned {pod.metadata.namespace}/{pod.metadata.name} to {node}"
        self._recorder.record(pod, "Scheduled", message, action="Binding")

    def failed_scheduling(self, pod: core.Pod, message: str) -> None:
        """Records that no node suits the pod."""
        self._recorder.record(pod, "FailedScheduling", message, "Warning", action="Scheduling")


class KubeletEvents:
    """The events about the pods of one node. Use it with `start` and `close`."""

    def __init__(self, client: Client, node: str, clock: Clock) -> None:
        rng = _generator_for(node)
        self._recorder = EventRecorder(client, _KUBELET, instance=node, host=node, version="v1", clock=clock, rng=rng)

    def start(self) -> None:
        """Starts the recorder."""
        self._recorder.start()

    async def close(self) -> None:
        """Writes pending events for a short time, and stops."""
        await self._recorder.close()

    def pulling(self, pod: core.Pod, *, init: bool) -> None:
        """Records the pull of images with the policy Always; `init`: the init containers run before."""
        for container in _containers(pod, init=init):
            if container.image_pull_policy == "Always":
                self.report(pod, container, "Pulling", f'Pulling image "{container.image}"')

    def started(self, pod: core.Pod, waited: float, *, init: bool) -> None:
        """Records that images were pulled and containers started; `init`: the init containers ran before."""
        for container in _containers(pod, init=init):
            image, took = container.image, duration(waited)
            text = f'Container image "{image}" already present on machine and can be accessed by the pod'
            if container.image_pull_policy == "Always":
                text = f'Successfully pulled image "{image}" in {took} ({took} including waiting). Image size: 0 bytes.'
            self.report(pod, container, "Pulled", text)
            self.report(pod, container, "Created", "Container created")
            self.report(pod, container, "Started", "Container started")

    def image_missing(self, pod: core.Pod) -> None:
        """Records a failed pull of the images and the backoff."""
        for container in pod.spec.containers:
            image = container.image
            why = (
                f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'
            )
            self.report(pod, container, "Pulling", f'Pulling image "{image}"')
            text = f'Failed to pull image "{image}": rpc error: code = NotFound desc = {why}'
            self.report(pod, container, "Failed", text, "Warning")
            self.report(pod, container, "Failed", "Error: ErrImagePull", "Warning")
            self.report(pod, container, "BackOff", f'Back-off pulling image "{image}"')
            self.report(pod, container, "Failed", "Error: ImagePullBackOff", "Warning")

    def backing_off(self, pod: core.Pod) -> None:
        """Records that failed containers wait for their restart."""
        metadata = pod.metadata
        whose = f"{metadata.name}_{metadata.namespace}({metadata.uid})"
        for container in pod.spec.containers:
            text = f"Back-off restarting failed container {container.name} in pod {whose}"
            self.report(pod, container, "BackOff", text, "Warning")

    def unhealthy(self, pod: core.Pod, container: core.Container) -> None:
        """Records a failed readiness probe of a container; nothing if it has no probe."""
        probe = container.readiness_probe
        if probe is not None:
            text = f"Readiness probe failed: {_outcome(container, probe, pod.status.pod_ip or '')}"
            self.report(pod, container, "Unhealthy", text, "Warning")

    def killing(self, pod: core.Pod) -> None:
        """Records that running containers are being stopped."""
        statuses = pod.status.container_statuses or ()
        running = {status.name for status in statuses if status.state is not None and status.state.running is not None}
        for container in pod.spec.containers:
            if container.name in running:
                self.report(pod, container, "Killing", f"Stopping container {container.name}")

    def failed(self, pod: core.Pod, reason: str, message: str) -> None:
        """Records that the whole pod failed, for example by eviction."""
        self._recorder.record(pod, reason, message, "Warning", action=reason)
        self.killing(pod)

    def about(self, pod: core.Pod, reason: str, message: str, type: EventType = "Normal") -> None:  # noqa: A002
        """Records an event about the pod as a whole."""
        self._recorder.record(pod, reason, message, type, action=reason)

    def report(
        self,
        pod: core.Pod,
        container: core.Container | core.EphemeralContainer,
        reason: str,
        message: str,
        type: EventType = "Normal",  # noqa: A002  # the field's own name
    ) -> None:
        """Records an event about one container."""
        init = any(container is each for each in pod.spec.init_containers or ())
        place = "initContainers" if init else "containers"
        if isinstance(container, core.EphemeralContainer):
            place = "ephemeralContainers"
        about = object_reference(pod)
        about.field_path = f"spec.{place}{{{container.name}}}"
        self._recorder.record(about, reason, message, type, action=reason)


def unschedulable_message(reasons: Mapping[str, int], *, lacks_resources: bool) -> str:
    """Returns the scheduler's message about a pod that fits on no node: each reason with the number of nodes."""
    nodes = sum(reasons.values())
    if not nodes:
        return "no nodes available to schedule pods"
    none, listed = f"0/{nodes} nodes are available:", ", ".join(sorted(f"{n} {why}" for why, n in reasons.items()))
    preemption = _NO_VICTIMS if lacks_resources else _NOT_HELPFUL
    return f"{none} {listed}. no new claims to deallocate, preemption: {none} {nodes} {preemption}."


def _generator_for(instance: str) -> random.Random:
    """Returns a generator for event names that depends on the component only, so that runs are reproducible."""
    return random.Random(f"events of {instance}")  # noqa: S311


def duration(seconds: float) -> str:
    """Formats seconds like Go, truncated to milliseconds: `0s`, `250ms`, `1.5s`, `2m0s`, `1h0m0s`."""
    milliseconds = int(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms" if milliseconds else "0s"
    minutes, left = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{left / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _containers(pod: core.Pod, *, init: bool) -> list[core.Container]:
    return [*(pod.spec.init_containers or () if init else ()), *pod.spec.containers]


def _outcome(container: core.Container, probe: core.Probe, address: str) -> str:
    """Returns the output of a probe of a container that runs but is not ready."""
    if probe.http_get is not None:
        return "HTTP probe failed with statuscode: 503"
    if probe.grpc is not None:
        return 'service unhealthy (responded with "NOT_SERVING")'
    if probe.tcp_socket is not None:
        named = {port.name: port.container_port for port in container.ports or () if port.name}
        port = probe.tcp_socket.port
        number = named.get(port, port) if isinstance(port, str) else port
        return f"dial tcp {address}:{number}: connect: connection refused"
    return ""
