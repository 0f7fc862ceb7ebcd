"""Pod statuses as a kubelet writes them, as patches. No I/O.

Each function returns the `status` of a strategic merge patch: conditions merge by type, container statuses are
replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from kubewright.api import core, format_time, to_dict

__all__ = [
    "NODE_ADDRESS",
    "failed",
    "finished",
    "gates_changed",
    "image_missing",
    "restart_counts",
    "running",
    "unschedulable",
    "waiting_to_restart",
]

Status = dict[str, Any]
NODE_ADDRESS: Final = "10.0.0.1"
"""The address of every node in the status of pods."""


def running(pod: core.Pod, restarts: dict[str, int], *, now: datetime, ready: bool, address: str) -> Status:
    """Returns the status of running containers; the pod is ready if `ready` and its readiness gates are true."""
    moment = format_time(now)
    started = pod.status.start_time

    def state(container: core.Container) -> Status:
        since = _running_since(pod, container) or moment
        return {"state": {"running": {"startedAt": since}}, "started": True, "ready": ready}

    return {
        "phase": "Running",
        "startTime": format_time(started) if started else moment,
        "hostIP": NODE_ADDRESS,
        "hostIPs": [{"ip": NODE_ADDRESS}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "initContainerStatuses": to_dict(pod.status.init_container_statuses) or _init_containers(pod, moment),
        "containerStatuses": _containers(pod, restarts, state),
        "conditions": _conditions(pod, moment, initialized=True, containers_ready=ready),
    }


def unschedulable(pod: core.Pod, *, now: datetime, message: str) -> Status:
    """Returns the status of a pod that no node suits."""
    had = next((each for each in pod.status.conditions or () if each.type == "PodScheduled"), None)
    since = had.last_transition_time if had is not None and had.status == "False" else None
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "lastTransitionTime": format_time(since or now),
        "observedGeneration": pod.metadata.generation,
        "reason": "Unschedulable",
        "message": message,
    }
    return {"conditions": [condition]}


def image_missing(pod: core.Pod, *, now: datetime) -> Status:
    """Returns the status of a pod whose images cannot be pulled."""
    moment = format_time(now)

    def state(container: core.Container) -> Status:
        waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{container.image}"'}
        return {"state": {"waiting": waiting}, "started": False, "ready": False}

    return {
        "phase": "Pending",
        "startTime": moment,
        "containerStatuses": _containers(pod, {}, state),
        "conditions": _conditions(pod, moment, initialized=True, containers_ready=False),
    }


def waiting_to_restart(pod: core.Pod, restarts: dict[str, int], *, now: datetime, exit_code: int) -> Status:
    """Returns the status of a pod whose containers exited and wait for their restart."""
    moment = format_time(now)
    reason = "CrashLoopBackOff" if exit_code else "ContainerCreating"

    def state(container: core.Container) -> Status:
        ended = _terminated(moment, exit_code, _running_since(pod, container))
        return {"state": {"waiting": {"reason": reason}}, "lastState": ended, "started": False, "ready": False}

    return {
        "phase": "Running",
        "containerStatuses": _containers(pod, restarts, state),
        "conditions": _conditions(pod, moment, initialized=True, containers_ready=False),
    }


def finished(pod: core.Pod, restarts: dict[str, int], *, now: datetime, exit_code: int) -> Status:
    """Returns the status of a pod whose containers exited for good."""
    moment = format_time(now)

    def state(container: core.Container) -> Status:
        ended = _terminated(moment, exit_code, _running_since(pod, container))
        return {"state": ended, "started": False, "ready": False}

    why = "PodFailed" if exit_code else "PodCompleted"
    return {
        "phase": "Failed" if exit_code else "Succeeded",
        "containerStatuses": _containers(pod, restarts, state),
        "conditions": _conditions(pod, moment, initialized=True, containers_ready=False, reason=why),
    }


def failed(pod: core.Pod, *, now: datetime, reason: str, message: str) -> Status:
    """Returns the status of a pod that failed as a whole, for example by eviction."""
    return finished(pod, restart_counts(pod), now=now, exit_code=137) | {"reason": reason, "message": message}


def gates_changed(pod: core.Pod, *, now: datetime) -> Status | None:
    """Returns the readiness after a condition of a readiness gate changed; None if it stays the same."""
    if not pod.spec.readiness_gates:
        return None
    have = {condition.type: condition.status for condition in pod.status.conditions or []}
    containers_ready = have.get("ContainersReady") == "True"
    if (have.get("Ready") == "True") == (containers_ready and _gates_open(pod)):
        return None
    return {
        "conditions": _conditions(
            pod, format_time(now), initialized=True, containers_ready=containers_ready, reason="ReadinessGatesNotReady"
        )
    }


def restart_counts(pod: core.Pod) -> dict[str, int]:
    """Returns the restart count of each container."""
    statuses = pod.status.container_statuses or []
    return {status.name: status.restart_count for status in statuses}


def _containers(pod: core.Pod, restarts: dict[str, int], state: Callable[[core.Container], Status]) -> list[Status]:
    # The last state of a container stays visible after its restart.
    before = {each.name: to_dict(each.last_state) for each in pod.status.container_statuses or () if each.last_state}
    return [
        _about(container)
        | {"restartCount": restarts.get(container.name, 0), "lastState": before.get(container.name, {})}
        | state(container)
        for container in pod.spec.containers
    ]


def _running_since(pod: core.Pod, container: core.Container) -> str | None:
    for status in pod.status.container_statuses or ():
        if status.name == container.name and status.state is not None and status.state.running is not None:
            started = status.state.running.started_at
            return format_time(started) if started is not None else None
    return None


def _init_containers(pod: core.Pod, moment: str) -> list[Status]:
    statuses = []
    for container in pod.spec.init_containers or []:
        # An init container with the restart policy Always is a sidecar: it keeps running.
        sidecar = container.restart_policy == "Always"
        state = {"running": {"startedAt": moment}} if sidecar else _terminated(moment, 0)
        extra = {"state": state, "started": sidecar, "ready": True, "restartCount": 0}
        statuses.append(_about(container) | extra)
    return statuses


def _about(container: core.Container) -> Status:
    image = container.image or ""
    return {"name": container.name, "image": image, "imageID": f"fake://{image}", "containerID": "fake://container"}


def _terminated(moment: str, exit_code: int, started: str | None = None) -> Status:
    reason = "Error" if exit_code else "Completed"
    ended = {"exitCode": exit_code, "reason": reason, "startedAt": started or moment, "finishedAt": moment}
    return {"terminated": ended}


def _conditions(
    pod: core.Pod, moment: str, *, initialized: bool, containers_ready: bool, reason: str | None = None
) -> list[Status]:
    wanted = {
        "PodReadyToStartContainers": True,
        "Initialized": initialized,
        "ContainersReady": containers_ready,
        "Ready": containers_ready and _gates_open(pod),
    }
    have = {condition.type: condition for condition in pod.status.conditions or []}
    conditions = []
    for kind, is_true in wanted.items():
        status = "True" if is_true else "False"
        before = have.get(kind)
        # The transition time changes with the status, not with each write.
        kept = before.last_transition_time if before is not None and before.status == status else None
        conditions.append(
            {
                "type": kind,
                "status": status,
                "lastTransitionTime": format_time(kept) if kept else moment,
                "reason": None if is_true else reason or "ContainersNotReady",
            }
        )
    return conditions


def _gates_open(pod: core.Pod) -> bool:
    gates = {gate.condition_type for gate in pod.spec.readiness_gates or []}
    conditions = pod.status.conditions or []
    return gates <= {condition.type for condition in conditions if condition.status == "True"}
