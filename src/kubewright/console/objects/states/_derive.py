"""`state_of`: the state of any object, derived from its status. A pure function, without cluster and clock.

The first rule that applies decides:

1. A deletion timestamp: terminating. Otherwise an annotation or a condition that pauses the object: suspended.
2. `status.observedGeneration` is less than `metadata.generation`: progressing, because the status is outdated.
3. The states that the operator declared for its kind (`@resource(states=...)`).
4. `spec.suspend` or `spec.paused`: suspended.
5. Built-in kinds with their own status fields (replicas of a Deployment, counts of a Job, containers of a Pod).
6. Conditions. `Failed`, `Degraded`, `Stalled` and the like are true: failing. `Ready`, `Available`, `Succeeded` and the
   like: ready if all of them are true; failing if one is false with a reason that names a failure, or while nothing
   progresses; otherwise progressing, and failing after five minutes unless another condition reports progress.
7. A phase (`status.phase`, `status.state`, or a status that is a string).
8. Replicas in the spec and in the status.
9. Otherwise: unknown.

Objects are untrusted input: values of a wrong type count as absent. Nothing here raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from kubewright.columns import PathError, find_values
from kubewright.console.kinds import DeclaredStates, Kind
from kubewright.console.objects._untrusted import as_int, as_list, as_map, as_text, parse_time
from kubewright.console.objects.states._health import OVERDUE, Health, State
from kubewright.console.objects.states._words import (
    BAD,
    BUSY,
    COMPLETED_REASON,
    DONE,
    FAILURE,
    GOOD,
    SUSPENDED_REASON,
    phase_of,
)
from kubewright.counts import counted
from kubewright.pausing import PAUSED, PAUSED_BY_ANNOTATION, pause_of

__all__ = ["health_of", "state_of"]

_NOTHING: Final = "no status reported"


def health_of(kind: Kind, obj: Mapping[str, Any]) -> Health:
    """Returns the state of an object of a kind. A built-in object without a status, such as a ConfigMap, is ready."""
    health = state_of(obj, kind.states)
    if health.state is State.UNKNOWN and not obj.get("status") and not kind.custom:
        return Health(State.READY, "exists")
    return health


def state_of(obj: Mapping[str, Any], declared: DeclaredStates | None = None) -> Health:
    """Returns the state of an object, given as decoded JSON, and the states that its kind declares."""
    metadata = as_map(obj.get("metadata"))
    pause = _pause_in(obj)
    if metadata.get("deletionTimestamp"):
        waits = [one for one in as_list(metadata.get("finalizers")) if isinstance(one, str)]
        why = f"waiting for {', '.join(waits)}" if waits else "being deleted"
        return Health(State.TERMINATING, f"paused, {why}" if pause else why)
    if pause:
        return Health(State.SUSPENDED, pause)
    status = obj.get("status")
    if _is_outdated(metadata, as_map(status)):
        return Health(State.PROGRESSING, "the latest change has not been observed yet")
    if declared is not None and (health := _of_declaration(obj, declared)) is not None:
        return health
    spec = as_map(obj.get("spec"))
    if isinstance(status, str):
        return _of_phase(status, "") or Health(State.UNKNOWN, status)
    status = as_map(status)
    built_in = _BUILT_IN.get(_group_kind(obj))
    if built_in is not None:
        return built_in(spec, status)
    if spec.get("suspend") is True or spec.get("paused") is True:
        return Health(State.SUSPENDED, "spec.suspend" if spec.get("suspend") is True else "spec.paused")
    message = _message(status)
    return (
        _of_conditions(status)
        or _of_phase(status.get("phase"), message)
        or _of_phase(status.get("state"), message)
        or _of_replicas(spec, status)
        or Health(State.UNKNOWN, _NOTHING, message)
    )


def _pause_in(obj: Mapping[str, Any]) -> str:
    """Returns the annotation or condition that pauses an object; "" if the object is not paused."""
    annotations = as_map(as_map(obj.get("metadata")).get("annotations"))
    if pause := pause_of({name: value for name, value in annotations.items() if isinstance(value, str)}):
        return pause
    for one in map(as_map, as_list(as_map(obj.get("status")).get("conditions"))):
        if one.get("type") == PAUSED and one.get("reason") == PAUSED_BY_ANNOTATION and _is(one, "True"):
            return as_text(one.get("message"))
    return ""


def _of_declaration(obj: Mapping[str, Any], declared: DeclaredStates) -> Health | None:
    try:
        found = find_values(declared.path, obj)
    except (PathError, TypeError):
        return None
    value = found[0] if found else None
    word = str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else str(value)
    state = declared.states.get(word) if value is not None else None
    if state is None:
        return None
    completed = state == "completed"
    shown = State.READY if completed else State(state)
    return Health(shown, word, _message(as_map(obj.get("status"))), completed=completed)


def _of_conditions(status: Mapping[str, Any]) -> Health | None:
    conditions = {
        one["type"]: one
        for one in as_list(status.get("conditions"))
        if isinstance(one, dict) and isinstance(one.get("type"), str)
    }
    if _is(conditions.get("Suspended"), "True"):
        return _health(State.SUSPENDED, conditions["Suspended"])
    for kind in BAD:
        if _is(conditions.get(kind), "True"):
            return _health(State.FAILING, conditions[kind])
    good = [conditions[kind] for kind in GOOD if kind in conditions]
    busy = [conditions[kind] for kind in BUSY if kind in conditions]
    for one in good:
        if _is(one, "False"):
            return _not_ready(one, busy)
        if not _is(one, "True"):
            return _health(State.PROGRESSING, one)
    if good:
        reconciling = conditions.get("Reconciling")
        if reconciling is not None and _is(reconciling, "True"):
            return _health(State.PROGRESSING, reconciling)
        health = _health(State.READY, good[0])
        return health._replace(completed=any(one["type"] in DONE for one in good))
    for one in busy:
        if _is(one, "True"):
            return _health(State.PROGRESSING, one)
    return None


def _not_ready(condition: Mapping[str, Any], busy: list[Any]) -> Health:
    """Returns the health of an object with a false `Ready` condition or the like."""
    reason = as_text(condition.get("reason"))
    if SUSPENDED_REASON.search(reason):
        return _health(State.SUSPENDED, condition)
    if COMPLETED_REASON.search(reason):
        return _health(State.READY, condition)._replace(completed=True)
    working = any(_is(other, "True") for other in busy)
    if (busy and not working) or FAILURE.search(reason):
        return _health(State.FAILING, condition)
    health = _health(State.PROGRESSING, condition)
    return health if working else health._replace(overdue_at=_overdue(condition))


def _overdue(condition: Mapping[str, Any]) -> datetime | None:
    since = parse_time(condition.get("lastTransitionTime"))
    try:
        return None if since is None else since + OVERDUE
    except OverflowError:
        return None


def _of_phase(phase: Any, message: str) -> Health | None:
    found = phase_of(phase)
    return Health(found.state, phase, message, completed=found.completed) if found else None


def _message(status: Mapping[str, Any]) -> str:
    """Returns the explanation that a status without conditions has."""
    for name in ("message", "error", "errorMessage", "reason"):
        if text := as_text(status.get(name)):
            return text
    return ""


def _of_replicas(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health | None:
    wanted = as_int(spec.get("replicas"))
    counts = [as_int(status.get(field)) for field in ("availableReplicas", "readyReplicas", "replicas")]
    have = next((count for count in counts if count is not None), None)
    if have is None:
        return None
    if wanted is None:
        return Health(State.READY, counted(have, "replica")) if have else None
    return _of_count(have, wanted)


def _of_count(have: int, wanted: int) -> Health:
    return Health(State.READY if have >= wanted else State.PROGRESSING, f"{have} of {wanted} replicas")


# Built-in kinds with their own status fields


def _replicated(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health:
    conditions = {as_text(one.get("type")): one for one in as_list(status.get("conditions")) if isinstance(one, dict)}
    if _is(conditions.get("ReplicaFailure"), "True"):
        return _health(State.FAILING, conditions["ReplicaFailure"])
    progressing = conditions.get("Progressing")
    if progressing is not None and _is(progressing, "False"):
        return _health(State.FAILING, progressing)
    wanted = as_int(spec.get("replicas"))
    wanted = 1 if wanted is None else wanted
    ready = as_int(status.get("availableReplicas")) or as_int(status.get("readyReplicas")) or 0
    updated = as_int(status.get("updatedReplicas"))
    if updated is not None and updated < min(wanted, ready):
        return Health(State.PROGRESSING, f"{updated} of {wanted} replicas updated")
    health, available = _of_count(ready, wanted), conditions.get("Available")
    if health.state is State.PROGRESSING and available is not None and _is(available, "False"):
        return health._replace(overdue_at=_overdue(available), message=as_text(available.get("message")))
    return health


def _daemon_set(_spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health:
    wanted = as_int(status.get("desiredNumberScheduled"))
    if wanted is None:
        return Health(State.PROGRESSING, "not observed yet")
    ready = as_int(status.get("numberReady")) or 0
    return Health(State.READY if ready >= wanted else State.PROGRESSING, f"{ready} of {wanted} nodes")


def _job(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health:
    health = _of_conditions(status)
    if health is not None:
        return health
    if spec.get("suspend") is True:
        return Health(State.SUSPENDED, "spec.suspend")
    return Health(State.PROGRESSING, f"{as_int(status.get('active')) or 0} active")


def _cron_job(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health:
    if spec.get("suspend") is True:
        return Health(State.SUSPENDED, "spec.suspend")
    return Health(State.READY, f"{len(as_list(status.get('active')))} active")


def _pod(_spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health:
    for one in [*as_list(status.get("initContainerStatuses")), *as_list(status.get("containerStatuses"))]:
        waiting = as_map(as_map(as_map(one).get("state")).get("waiting"))
        reason = as_text(waiting.get("reason"))
        if FAILURE.search(reason) or reason.startswith("Err"):
            return Health(State.FAILING, reason, as_text(waiting.get("message")))
    phase = as_text(status.get("phase"))
    conditions = {as_text(as_map(one).get("type")): as_map(one) for one in as_list(status.get("conditions"))}
    if phase in ("Running", "Pending"):
        for kind in ("PodScheduled", "Ready"):
            if kind in conditions and not _is(conditions[kind], "True"):
                health = _health(State.PROGRESSING, conditions[kind])
                return health._replace(overdue_at=_overdue(conditions[kind]))
    return _of_phase(phase, _message(status)) or Health(State.UNKNOWN, phase or _NOTHING)


_BUILT_IN = {
    ("apps", "Deployment"): _replicated,
    ("apps", "StatefulSet"): _replicated,
    ("apps", "ReplicaSet"): _replicated,
    ("", "ReplicationController"): _replicated,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("", "Pod"): _pod,
}


def _group_kind(obj: Mapping[str, Any]) -> tuple[str, str]:
    group, slash, _version = as_text(obj.get("apiVersion")).rpartition("/")
    return (group if slash else "", as_text(obj.get("kind")))


def _is_outdated(metadata: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    generation, observed = as_int(metadata.get("generation")), as_int(status.get("observedGeneration"))
    return generation is not None and observed is not None and observed < generation


def _is(condition: Any, status: str) -> bool:
    return as_map(condition).get("status") == status


def _health(state: State, condition: Mapping[str, Any]) -> Health:
    """Returns a state with a condition as its reason: `Ready: AllUp`, or its status if it has no reason."""
    reason = as_text(condition.get("reason")) or as_text(condition.get("status"))
    return Health(
        state,
        f"{as_text(condition.get('type'))}: {reason}",
        as_text(condition.get("message")),
        since=parse_time(condition.get("lastTransitionTime")),
    )
