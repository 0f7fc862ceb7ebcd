"""The table row of a pod, whose status is derived from its conditions and containers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kubewright.columns._cells import NONE
from kubewright.columns._durations import age
from kubewright.columns._table import JSONObject

__all__ = ["pod"]


def pod(obj: JSONObject, now: datetime) -> list[Any]:
    """Returns the row of a pod."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    reason, restarts, ready = _summary(obj, now)
    ready_text = f"{ready}/{len(spec.get('containers') or ())}"
    gates = spec.get("readinessGates") or ()
    true = {each["type"] for each in status.get("conditions") or () if each.get("status") == "True"}
    gate_text = f"{sum(gate['conditionType'] in true for gate in gates)}/{len(gates)}" if gates else NONE
    address = next((each.get("ip") for each in status.get("podIPs") or ()), "") or status.get("podIP") or NONE
    wide = [address, spec.get("nodeName") or NONE, status.get("nominatedNodeName") or NONE, gate_text]
    return [metadata["name"], ready_text, reason, restarts, age(metadata.get("creationTimestamp"), now), *wide]


def _summary(obj: JSONObject, now: datetime) -> tuple[str, str, int]:
    """Returns the status, the restarts, and the number of ready containers."""
    status, metadata = obj.get("status") or {}, obj["metadata"]
    reason = status.get("reason") or status.get("phase", "")
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    restarts = ready = 0
    last = ""
    initializing, reason_before = _initializing(obj), reason
    if initializing:
        reason = initializing
        restarts = sum(each.get("restartCount", 0) for each in status.get("initContainerStatuses") or ())
    else:
        running = False
        for container in reversed(status.get("containerStatuses") or ()):
            restarts += container.get("restartCount", 0)
            last = max(last, ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or "")
            reason = _reason_of(container.get("state") or {}) or reason
            if container.get("ready") and "running" in (container.get("state") or {}):
                running, ready = True, ready + 1
        if reason == "Completed" and running:
            is_ready = any(
                each["type"] == "Ready" and each.get("status") == "True" for each in status.get("conditions") or ()
            )
            reason = "Running" if is_ready else "NotReady"
        reason = reason or reason_before
    if metadata.get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    text = str(restarts)
    if restarts and last:
        text = f"{restarts} ({age(last, now)} ago)"
    return reason, text, ready


def _reason_of(state: JSONObject) -> str:
    if waiting := (state.get("waiting") or {}).get("reason"):
        return str(waiting)
    ended = state.get("terminated")
    if ended is None:
        return ""
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _initializing(obj: JSONObject) -> str:
    """Returns the progress of the init containers; "" if they are done."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    found = status.get("initContainerStatuses") or ()
    sidecars = {each["name"] for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"}
    for index, container in enumerate(found):
        state = container.get("state") or {}
        ended = state.get("terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if container["name"] in sidecars and container.get("started"):
            continue
        if ended is not None:
            return f"Init:{_reason_of(state)}"
        waiting = (state.get("waiting") or {}).get("reason")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{index}/{len(spec.get('initContainers') or ())}"
    return ""
