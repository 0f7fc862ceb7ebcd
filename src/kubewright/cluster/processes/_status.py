"""The status of a pod, built from the states of its containers. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kubewright.api import core, format_time
from kubewright.cluster.processes._state import ContainerState, Terminated

__all__ = ["PodState", "Status", "phase_of", "status_of"]

Status = dict[str, Any]


@dataclass
class PodState:
    """The state of a pod on this node. `failure` is the reason and message of a pod that failed as a whole."""

    address: str
    host_address: str
    containers: list[ContainerState]
    start_time: datetime
    volumes_ready: bool = False
    initialized: bool = False
    failure: tuple[str, str] | None = None
    transitions: dict[str, tuple[str, str]] = field(default_factory=dict)

    def of_kind(self, *kinds: str) -> list[ContainerState]:
        """Returns the containers of these kinds, in the order of the spec."""
        return [state for state in self.containers if state.kind in kinds]


def phase_of(pod: PodState) -> str:
    """Returns the phase of the pod."""
    apps = pod.of_kind("app")
    failed_init = any(s.done and s.terminated and s.terminated.exit_code for s in pod.of_kind("init"))
    if pod.failure is not None or failed_init:
        return "Failed"
    if not pod.initialized:
        return "Pending"
    if all(state.done for state in apps):
        codes = [state.terminated.exit_code if state.terminated else 137 for state in apps]
        return "Failed" if any(codes) else "Succeeded"
    begun = any(state.running_since or state.terminated or state.last for state in apps)
    return "Running" if begun else "Pending"


def status_of(pod: core.Pod, state: PodState, now: datetime) -> Status:
    """Returns the status as a strategic merge patch. Times of conditions change only with their status."""
    phase = phase_of(state)
    regular = state.of_kind("app", "sidecar")
    ready = state.initialized and bool(regular) and all(each.ready for each in regular) and phase == "Running"
    status: Status = {
        "phase": phase,
        "startTime": format_time(state.start_time),
        "hostIP": state.host_address,
        "hostIPs": [{"ip": state.host_address}],
        "podIP": state.address,
        "podIPs": [*_former_addresses(pod, state.address), {"ip": state.address}],
        "initContainerStatuses": _containers(state.of_kind("init", "sidecar")),
        "containerStatuses": _containers(state.of_kind("app")),
        "ephemeralContainerStatuses": _containers(state.of_kind("ephemeral")),
        "conditions": _conditions(pod, state, phase, ready=ready, now=now),
    }
    if state.failure is not None:
        status["reason"], status["message"] = state.failure
    return status


def _former_addresses(pod: core.Pod, address: str) -> list[Status]:
    """Returns the patch that removes the addresses that a former node gave the pod."""
    return [{"$patch": "delete", "ip": each.ip} for each in pod.status.pod_ips or () if each.ip != address]


def _containers(states: Sequence[ContainerState]) -> list[Status]:
    return [_container(state) for state in states]


def _container(state: ContainerState) -> Status:
    image = state.container.image or ""
    made: Status = {
        "name": state.name,
        "image": image,
        "imageID": f"process://{image}" if state.container_id else "",
        "restartCount": state.restarts,
        "ready": state.ready,
        "started": state.started,
        "state": _state(state),
    }
    if state.container_id:
        made["containerID"] = state.container_id
    if state.last is not None:
        made["lastState"] = {"terminated": _terminated(state.last)}
    return made


def _state(state: ContainerState) -> Status:
    if state.running_since is not None:
        return {"running": {"startedAt": format_time(state.running_since)}}
    if state.terminated is not None:
        return {"terminated": _terminated(state.terminated)}
    reason, message = state.waiting
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})}


def _terminated(ended: Terminated) -> Status:
    made = {
        "exitCode": ended.exit_code,
        "reason": ended.reason,
        "startedAt": format_time(ended.started),
        "finishedAt": format_time(ended.finished),
        "containerID": ended.container_id,
    }
    return made | ({"message": ended.message} if ended.message else {})


def _conditions(pod: core.Pod, state: PodState, phase: str, *, ready: bool, now: datetime) -> list[Status]:
    gates = {gate.condition_type for gate in pod.spec.readiness_gates or ()}
    true = {condition.type for condition in pod.status.conditions or () if condition.status == "True"}
    done = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase)
    waiting = [each.name for each in state.of_kind("app", "sidecar") if not each.ready]
    why = done or "ContainersNotReady"
    message = None if done else f"containers with unready status: [{' '.join(waiting)}]"
    wanted: dict[str, tuple[bool, str | None, str | None]] = {
        "PodReadyToStartContainers": (state.volumes_ready and phase in ("Pending", "Running"), None, None),
        "Initialized": (state.initialized, None if state.initialized else "ContainersNotInitialized", None),
        "ContainersReady": (ready, why, message),
        "Ready": (ready and gates <= true, "ReadinessGatesNotReady" if ready else why, None if ready else message),
    }
    if phase == "Succeeded":
        wanted["Initialized"] = (True, "PodCompleted", None)
    made = []
    for kind, (is_true, reason, text) in wanted.items():
        status = "True" if is_true else "False"
        before, since = state.transitions.get(kind, ("", ""))
        if before != status:
            since = format_time(now)
            state.transitions[kind] = (status, since)
        made.append(
            {
                "type": kind,
                "status": status,
                "lastTransitionTime": since,
                "reason": None if is_true and kind != "Initialized" else reason,
                "message": None if is_true else text,
            }
        )
    return made
