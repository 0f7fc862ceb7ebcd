"""The rules of built-in kinds, as functions of the spec and the status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from kubewright.controller.readiness._results import CURRENT, Readiness, conditions_of, failed, in_progress

__all__ = ["RULES"]

Content: TypeAlias = dict[str, Any]
_NO_DEADLINE: Final = 2**31 - 1
_NOT_OBSERVED: Final = in_progress("NotObserved", "is not observed by its controller yet")


def _number(content: Content, name: str, default: int = 0) -> int:
    value = content.get(name)
    return value if isinstance(value, int) else default


def _condition(status: Content, type_: str) -> Content:
    return next((one for one in conditions_of(status) if one.get("type") == type_), {})


def _short(*counts: tuple[str, str, int, int]) -> Readiness | None:
    """Returns the first count that is too low: reason, name, found, wanted."""
    for reason, name, found, wanted in counts:
        if found < wanted:
            return in_progress(reason, f"{name}: {found}/{wanted}")
    return None


def _deployment(spec: Content, status: Content) -> Readiness:
    progressing = _condition(status, "Progressing")
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return failed("ProgressDeadlineExceeded", "progress deadline exceeded")
    if "observedGeneration" not in status:
        return _NOT_OBSERVED
    wanted, replicas = _number(spec, "replicas", 1), _number(status, "replicas")
    updated, available = _number(status, "updatedReplicas"), _number(status, "availableReplicas")
    too_few = _short(("LessReplicas", "replicas", replicas, wanted), ("LessUpdated", "updated", updated, wanted))
    if too_few is not None:
        return too_few
    if replicas > wanted:
        return in_progress("ExtraPods", f"pending termination: {replicas - wanted}")
    too_few = _short(
        ("LessAvailable", "available", available, updated),
        ("LessReady", "ready", _number(status, "readyReplicas"), wanted),
    )
    if too_few is not None:
        return too_few
    has_deadline = _number(spec, "progressDeadlineSeconds", _NO_DEADLINE) != _NO_DEADLINE
    rolled_out = progressing.get("status") == "True" and progressing.get("reason") == "NewReplicaSetAvailable"
    if has_deadline and not rolled_out:
        return in_progress("ReplicaSetNotAvailable", "the new ReplicaSet is not available")
    if _condition(status, "Available").get("status") != "True":
        return in_progress("DeploymentNotAvailable", "is not available")
    return CURRENT


def _stateful_set(spec: Content, status: Content) -> Readiness:
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return CURRENT  # users delete its pods
    if "observedGeneration" not in status:
        return _NOT_OBSERVED
    wanted, replicas = _number(spec, "replicas", 1), _number(status, "replicas")
    too_few = _short(
        ("LessReplicas", "replicas", replicas, wanted),
        ("LessReady", "ready", _number(status, "readyReplicas"), wanted),
    )
    if too_few is not None:
        return too_few
    if replicas > wanted:
        return in_progress("ExtraPods", f"pending termination: {replicas - wanted}")
    # The server sets the partition 0 by default, which kstatus treats as a rollout by partitions, too.
    partition = (strategy.get("rollingUpdate") or {}).get("partition")
    if isinstance(partition, int):
        updated = _number(status, "updatedReplicas")
        return _short(("PartitionRollout", "updated", updated, wanted - partition)) or CURRENT
    current = _short(("LessCurrent", "current", _number(status, "currentReplicas"), wanted))
    if current is not None:
        return current
    if status.get("currentRevision") != status.get("updateRevision"):
        return in_progress("RevisionMismatch", "the updated revision is not current yet")
    return CURRENT


def _daemon_set(spec: Content, status: Content) -> Readiness:
    if "observedGeneration" not in status:
        return _NOT_OBSERVED
    wanted = _number(status, "desiredNumberScheduled", -1)
    if wanted < 0:
        return in_progress("NoDesiredNumber", "the number of nodes is not known yet")
    return (
        _short(
            ("LessCurrent", "current", _number(status, "currentNumberScheduled"), wanted),
            ("LessUpdated", "updated", _number(status, "updatedNumberScheduled"), wanted),
            ("LessAvailable", "available", _number(status, "numberAvailable"), wanted),
            ("LessReady", "ready", _number(status, "numberReady"), wanted),
        )
        or CURRENT
    )


def _replica_set(spec: Content, status: Content) -> Readiness:
    if _condition(status, "ReplicaFailure").get("status") == "True":
        return in_progress("ReplicaFailure", "its pods cannot be created")
    if "observedGeneration" not in status:
        return _NOT_OBSERVED
    wanted, replicas = _number(spec, "replicas", 1), _number(status, "replicas")
    too_few = _short(
        ("LessLabelled", "labeled", _number(status, "fullyLabeledReplicas"), wanted),
        ("LessAvailable", "available", _number(status, "availableReplicas"), wanted),
        ("LessReady", "ready", _number(status, "readyReplicas"), wanted),
    )
    if too_few is None and replicas > wanted:
        return in_progress("ExtraPods", f"pending termination: {replicas - wanted}")
    return too_few or CURRENT


def _job(spec: Content, status: Content) -> Readiness:
    if _condition(status, "Complete").get("status") == "True":
        return CURRENT
    reason = _condition(status, "Failed")
    if reason.get("status") == "True":
        return failed("JobFailed", reason.get("message") or "has failed")
    if not status.get("startTime"):
        return in_progress("JobNotStarted", "is not started")
    completions = _number(spec, "completions", _number(spec, "parallelism", 1))
    return in_progress("JobRunning", f"succeeded: {_number(status, 'succeeded')}/{completions}")


def _pod(spec: Content, status: Content) -> Readiness:
    phase = status.get("phase")
    if phase == "Succeeded" or (phase == "Running" and _condition(status, "Ready").get("status") == "True"):
        return CURRENT
    if phase == "Failed":
        return failed("PodFailed", "has failed")
    if phase == "Running":
        if crashing := _crashing(status):
            return failed("ContainerCrashLooping", f"containers in a crash loop: {', '.join(crashing)}")
        return in_progress("PodRunningNotReady", "is running but not ready")
    if _condition(status, "PodScheduled").get("reason") == "Unschedulable":
        return in_progress("PodNotScheduled", "is not scheduled")
    return in_progress("PodPending", "is pending" if phase else "is not observed yet")


def _crashing(status: Content) -> list[str]:
    containers = status.get("containerStatuses")
    waiting = [
        (one.get("name") or "", ((one.get("state") or {}).get("waiting") or {}).get("reason"))
        for one in (containers if isinstance(containers, list) else ())
        if isinstance(one, dict)
    ]
    return [name for name, reason in waiting if reason == "CrashLoopBackOff"]


def _claim(spec: Content, status: Content) -> Readiness:
    phase = status.get("phase") or "unknown"
    return CURRENT if phase == "Bound" else in_progress("NotBound", f"is not bound, phase: {phase}")


def _service(spec: Content, status: Content) -> Readiness:
    if spec.get("type") == "LoadBalancer" and not spec.get("clusterIP"):
        return in_progress("NoIPAssigned", "has no cluster IP")
    return CURRENT


def _definition(spec: Content, status: Content) -> Readiness:
    names, established = _condition(status, "NamesAccepted"), _condition(status, "Established")
    if names.get("status") == "False":
        return failed(names.get("reason") or "NamesNotAccepted", names.get("message") or "")
    if established.get("status") == "True":
        return CURRENT
    if established.get("status") == "False" and established.get("reason") != "Installing":
        return failed(established.get("reason") or "NotEstablished", established.get("message") or "")
    return in_progress("Installing", "is being installed")


RULES: Final[Mapping[tuple[str, str], Callable[[Content, Content], Readiness]]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}
