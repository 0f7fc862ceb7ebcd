"""The status of a Deployment: counts, availability and progress. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import kubewright as kw
from kubewright.api import apps
from kubewright.cluster.workloads._rollouts import available_of, bounds_of, replicas_of, state_of, total
from kubewright.cluster.workloads._statuses import with_condition, without_condition

__all__ = ["is_complete", "next_deadline_check", "pause_conditions", "replica_status", "rollout_status"]

Conditions = list[apps.DeploymentCondition]

_DEFAULT_DEADLINE: Final = 600
_NO_DEADLINE: Final = 2**31 - 1
_PROGRESSING: Final = "Progressing"
_COMPLETE: Final = "NewReplicaSetAvailable"
_TIMED_OUT: Final = "ProgressDeadlineExceeded"
_PAUSED: Final = "DeploymentPaused"


def deadline_of(deployment: apps.Deployment) -> int | None:
    """Returns the progress deadline in seconds; None if there is none."""
    given = deployment.spec.progress_deadline_seconds
    if given is None:
        return _DEFAULT_DEADLINE
    return None if given == _NO_DEADLINE else given


def is_complete(deployment: apps.Deployment, status: apps.DeploymentStatus) -> bool:
    """Returns whether all replicas have the newest template and are available, and no others exist."""
    wanted = replicas_of(deployment)
    counts = (status.updated_replicas or 0, status.replicas or 0, status.available_replicas or 0)
    return counts == (wanted,) * 3 and (status.observed_generation or 0) >= deployment.metadata.generation


def pause_conditions(deployment: apps.Deployment, now: datetime) -> Conditions:
    """Returns the conditions after the Deployment was paused or resumed."""
    conditions = list(deployment.status.conditions or ())
    progressing = _find(conditions, _PROGRESSING)
    if deadline_of(deployment) is None or (progressing is not None and progressing.reason == _TIMED_OUT):
        return conditions
    is_paused = progressing is not None and progressing.reason == _PAUSED
    if deployment.spec.paused and not is_paused:
        return with_condition(conditions, _condition(now, "Unknown", _PAUSED, "Deployment is paused"))
    if not deployment.spec.paused and is_paused:
        return with_condition(conditions, _condition(now, "Unknown", "DeploymentResumed", "Deployment is resumed"))
    return conditions


def replica_status(
    deployment: apps.Deployment,
    everything: Sequence[apps.ReplicaSet],
    new: apps.ReplicaSet | None,
    conditions: Conditions,
    now: datetime,
) -> apps.DeploymentStatus:
    """Returns the status from the ReplicaSets' statuses, without the progress condition."""
    available = sum(map(available_of, everything))
    enough = available >= replicas_of(deployment) - bounds_of(deployment)[1]
    made = apps.DeploymentCondition(
        type="Available",
        status="True" if enough else "False",
        last_update_time=now,
        last_transition_time=now,
        reason="MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        message="Deployment has minimum availability." if enough else "Deployment does not have minimum availability.",
    )
    return apps.DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(state_of(each).replicas for each in everything) or None,
        updated_replicas=(state_of(new).replicas if new is not None else 0) or None,
        ready_replicas=sum(state_of(each).ready_replicas or 0 for each in everything) or None,
        available_replicas=available or None,
        unavailable_replicas=max(total(everything) - available, 0) or None,
        terminating_replicas=_terminating(everything),
        collision_count=deployment.status.collision_count,
        conditions=with_condition(conditions, made),
    )


def _terminating(everything: Sequence[apps.ReplicaSet]) -> int | None:
    """Returns the terminating replicas; None unless every ReplicaSet reports them."""
    counts = [state_of(each).terminating_replicas for each in everything]
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


def rollout_status(
    deployment: apps.Deployment,
    everything: Sequence[apps.ReplicaSet],
    new: apps.ReplicaSet | None,
    conditions: Conditions,
    now: datetime,
    *,
    created: bool,
) -> apps.DeploymentStatus:
    """Returns the status of a rollout with the progress condition. `created`: whether `new` was just created."""
    if deadline_of(deployment) is not None and new is not None:
        name = f'"{new.metadata.name}"'
        if created:
            made = _condition(now, "True", "NewReplicaSetCreated", f"Created new replica set {name}")
            conditions = with_condition(conditions, made)
        elif _find(conditions, _PROGRESSING) is None:
            made = _condition(now, "True", "FoundNewReplicaSet", f"Found new replica set {name}")
            conditions = with_condition(conditions, made)
    status = replica_status(deployment, everything, new, conditions, now)
    conditions = status.conditions or []
    current = _find(conditions, _PROGRESSING)
    if deadline_of(deployment) is None:
        conditions = without_condition(conditions, _PROGRESSING)
    elif not (current is not None and current.reason == _COMPLETE and status.replicas == status.updated_replicas):
        conditions = _progress_conditions(deployment, status, new, current, now)
    failures = [each for one in everything for each in state_of(one).conditions or () if each.type == "ReplicaFailure"]
    if failures:
        made = _condition(now, failures[0].status, failures[0].reason or "", failures[0].message or "")
        made.type = "ReplicaFailure"
        conditions = with_condition(conditions, made)
    else:
        conditions = without_condition(conditions, "ReplicaFailure")
    status.conditions = conditions
    return status


def _progress_conditions(
    deployment: apps.Deployment,
    status: apps.DeploymentStatus,
    new: apps.ReplicaSet | None,
    current: apps.DeploymentCondition | None,
    now: datetime,
) -> Conditions:
    conditions = status.conditions or []
    what = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        return with_condition(conditions, _condition(now, "True", _COMPLETE, f"{what} has successfully progressed."))
    if _progresses(deployment.status, status):
        made = _condition(now, "True", "ReplicaSetUpdated", f"{what} is progressing.")
        if current is not None and current.status == "True":
            made.last_transition_time = current.last_transition_time
        # Even if it was progressing before: each step extends the deadline.
        return [*without_condition(conditions, _PROGRESSING), made]
    if _is_late(deployment, current, now):
        return with_condition(conditions, _condition(now, "False", _TIMED_OUT, f"{what} has timed out progressing."))
    return conditions


def _progresses(before: apps.DeploymentStatus, after: apps.DeploymentStatus) -> bool:
    def old_pods(status: apps.DeploymentStatus) -> int:
        return (status.replicas or 0) - (status.updated_replicas or 0)

    return (
        (after.updated_replicas or 0) > (before.updated_replicas or 0)
        or old_pods(after) < old_pods(before)
        or (after.ready_replicas or 0) > (before.ready_replicas or 0)
        or (after.available_replicas or 0) > (before.available_replicas or 0)
    )


def _is_late(deployment: apps.Deployment, current: apps.DeploymentCondition | None, now: datetime) -> bool:
    left = _left(deployment, current, now)
    return left is not None and left < 0


def _left(deployment: apps.Deployment, current: apps.DeploymentCondition | None, now: datetime) -> float | None:
    """Returns the seconds until the deadline; None if there is none."""
    deadline = deadline_of(deployment)
    if current is None or current.last_update_time is None or deadline is None:
        return None
    if current.reason in (_COMPLETE, _PAUSED):
        return None
    return (current.last_update_time + timedelta(seconds=deadline) - now).total_seconds()


def next_deadline_check(deployment: apps.Deployment, status: apps.DeploymentStatus, now: datetime) -> kw.Result | None:
    """Returns when to check the deadline."""
    current = _find(status.conditions or [], _PROGRESSING)
    if is_complete(deployment, status) or (current is not None and current.reason == _TIMED_OUT):
        return None
    left = _left(deployment, current, now)
    return None if left is None else kw.Result(requeue_after=max(left, 0) + 1)


def _find(conditions: Conditions, type_: str) -> apps.DeploymentCondition | None:
    return next((each for each in conditions if each.type == type_), None)


def _condition(now: datetime, status: str, reason: str, message: str) -> apps.DeploymentCondition:
    return apps.DeploymentCondition(
        type=_PROGRESSING,
        status=status,
        last_update_time=now,
        last_transition_time=now,
        reason=reason,
        message=message,
    )
