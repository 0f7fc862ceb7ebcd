"""`state_of`: the state of any object, derived from its status. A pure function, without cluster and clock.

The first rule that applies decides:

1. A deletion timestamp: terminating.
   Otherwise an annotation, or a condition, that pauses the object: paused.
2. `status.observedGeneration` is less than `metadata.generation`: progressing, because the status is outdated.
3. Built-in kinds with their own status fields (replicas of a Deployment, counts of a Job, containers of a Pod).
4. Conditions. `Failed`, `Degraded`, `Stalled` and the like are true: failing. `Ready`, `Available`, `Succeeded` and the
   like: ready if all of them are true; failing if one is false with a reason that names a failure, or while nothing
   progresses; otherwise progressing.
5. A phase (`status.phase`, `status.state`, or a status that is a string).
6. Replicas in the spec and in the status.
7. Otherwise: unknown.

Objects are untrusted input: values of a wrong type count as absent. Nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from kubewright.console.objects._untrusted import as_int, as_list, as_map, as_text
from kubewright.pausing import PAUSED, PAUSED_BY_ANNOTATION, pause_of

__all__ = ["Health", "State", "pause_in", "state_of"]


class State(StrEnum):
    """The state of an object."""

    READY = "ready"
    PROGRESSING = "progressing"
    FAILING = "failing"
    PAUSED = "paused"
    TERMINATING = "terminating"
    UNKNOWN = "unknown"


class Health(NamedTuple):
    """A state and its reason: a condition's reason, a phase, a count."""

    state: State
    why: str = ""


_GOOD = ("Ready", "Available", "Healthy", "Succeeded", "Complete", "Established", "Synced", "Accepted", "Programmed")
_BAD = ("Failed", "Degraded", "Stalled", "Error", "Failure", "ReplicaFailure", "Broken", "Unhealthy")
_BUSY = ("Reconciling", "Progressing", "Issuing", "Installing", "Upgrading")
_FAILURE = re.compile(r"fail|error|invalid|crash|backoff|denied|forbidden|exceeded|unhealthy|conflict|lost", re.I)

_PHASES = {
    State.READY: "ready running active bound available succeeded success complete completed healthy synced deployed "
    "established online ok true created up installed",
    State.PROGRESSING: "pending creating provisioning updating progressing initializing waiting "
    "reconciling starting scaling upgrading installing containercreating queued scheduled inprogress restarting "
    "bootstrapping synchronizing released stopping",
    State.FAILING: "failed failure error errored degraded crashloopbackoff lost unhealthy invalid broken "
    "imagepullbackoff errimagepull evicted rejected false down",
    State.TERMINATING: "terminating deleting deleted",
}
_STATE_OF_PHASE = {word: state for state, words in _PHASES.items() for word in words.split()}


def state_of(obj: Mapping[str, Any]) -> Health:
    """Returns the state of an object, given as decoded JSON."""
    metadata = as_map(obj.get("metadata"))
    pause = pause_in(obj)
    if metadata.get("deletionTimestamp"):
        waits = [one for one in as_list(metadata.get("finalizers")) if isinstance(one, str)]
        why = f"waiting for {', '.join(waits)}" if waits else "being deleted"
        return Health(State.TERMINATING, f"paused, {why}" if pause else why)
    if pause:
        return Health(State.PAUSED, pause)
    status = obj.get("status")
    if isinstance(status, str):
        return _of_phase(status) or Health(State.UNKNOWN, status)
    status = as_map(status)
    if _behind(metadata, status):
        return Health(State.PROGRESSING, "the latest change has not been observed yet")
    built_in = _BUILT_IN.get(_group_kind(obj))
    if built_in is not None:
        return built_in(as_map(obj.get("spec")), status)
    return (
        _of_conditions(status)
        or _of_phase(status.get("phase"))
        or _of_phase(status.get("state"))
        or _of_replicas(as_map(obj.get("spec")), status)
        or Health(State.UNKNOWN, "the status reports no state")
    )


def pause_in(obj: Mapping[str, Any]) -> str:
    """Returns what pauses an object: the annotation, or the condition that its operator has set; empty if nothing."""
    annotations = as_map(as_map(obj.get("metadata")).get("annotations"))
    if pause := pause_of({name: value for name, value in annotations.items() if isinstance(value, str)}):
        return pause
    for one in map(as_map, as_list(as_map(obj.get("status")).get("conditions"))):
        if one.get("type") == PAUSED and one.get("reason") == PAUSED_BY_ANNOTATION and _is(one, "True"):
            return as_text(one.get("message"))
    return ""


def _of_conditions(status: Mapping[str, Any]) -> Health | None:
    conditions = {
        one["type"]: one
        for one in as_list(status.get("conditions"))
        if isinstance(one, dict) and isinstance(one.get("type"), str)
    }
    for kind in _BAD:
        if _is(conditions.get(kind), "True"):
            return Health(State.FAILING, _why(conditions[kind]))
    good = [conditions[kind] for kind in _GOOD if kind in conditions]
    busy = [conditions[kind] for kind in _BUSY if kind in conditions]
    for one in good:
        if _is(one, "False"):
            stuck = bool(busy) and not any(_is(other, "True") for other in busy)
            failing = stuck or _FAILURE.search(as_text(one.get("reason")))
            return Health(State.FAILING if failing else State.PROGRESSING, _why(one))
        if not _is(one, "True"):
            return Health(State.PROGRESSING, _why(one))
    if good:
        reconciling = conditions.get("Reconciling")
        if reconciling is not None and _is(reconciling, "True"):
            return Health(State.PROGRESSING, _why(reconciling))
        return Health(State.READY, _why(good[0]))
    for one in busy:
        if _is(one, "True"):
            return Health(State.PROGRESSING, _why(one))
    return None


def _of_phase(phase: Any) -> Health | None:
    if isinstance(phase, bool) or not isinstance(phase, str) or not phase:
        return None
    word = re.sub(r"[\s_-]", "", phase).lower().replace("ising", "izing")  # British spelling
    state = _STATE_OF_PHASE.get(word)
    return Health(state, phase) if state else None


def _of_replicas(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health | None:
    wanted = as_int(spec.get("replicas"))
    counts = [as_int(status.get(field)) for field in ("availableReplicas", "readyReplicas", "replicas")]
    have = next((count for count in counts if count is not None), None)
    if have is None:
        return None
    if wanted is None:
        return Health(State.READY, f"{have} replicas") if have else None
    return _counted(have, wanted)


def _counted(have: int, wanted: int) -> Health:
    return Health(State.READY if have >= wanted else State.PROGRESSING, f"{have} of {wanted} replicas")


# Built-in kinds with their own status fields


def _replicated(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health:
    conditions = {as_text(one.get("type")): one for one in as_list(status.get("conditions")) if isinstance(one, dict)}
    if _is(conditions.get("ReplicaFailure"), "True"):
        return Health(State.FAILING, _why(conditions["ReplicaFailure"]))
    progressing = conditions.get("Progressing")
    if progressing is not None and _is(progressing, "False"):
        return Health(State.FAILING, _why(progressing))
    wanted = as_int(spec.get("replicas"))
    wanted = 1 if wanted is None else wanted
    ready = as_int(status.get("availableReplicas")) or as_int(status.get("readyReplicas")) or 0
    updated = as_int(status.get("updatedReplicas"))
    if updated is not None and updated < min(wanted, ready):
        return Health(State.PROGRESSING, f"{updated} of {wanted} replicas updated")
    return _counted(ready, wanted)


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
        return Health(State.UNKNOWN, "suspended")
    return Health(State.PROGRESSING, f"{as_int(status.get('active')) or 0} active")


def _pod(_spec: Mapping[str, Any], status: Mapping[str, Any]) -> Health:
    for one in [*as_list(status.get("initContainerStatuses")), *as_list(status.get("containerStatuses"))]:
        reason = as_text(as_map(as_map(as_map(one).get("state")).get("waiting")).get("reason"))
        if _FAILURE.search(reason) or reason.startswith("Err"):
            return Health(State.FAILING, reason)
    phase = as_text(status.get("phase"))
    if phase == "Running":
        ready = next((one for one in as_list(status.get("conditions")) if as_map(one).get("type") == "Ready"), None)
        if ready is not None and not _is(ready, "True"):
            return Health(State.PROGRESSING, _why(ready))
    return _of_phase(phase) or Health(State.UNKNOWN, phase or "the status reports no state")


_BUILT_IN = {
    ("apps", "Deployment"): _replicated,
    ("apps", "StatefulSet"): _replicated,
    ("apps", "ReplicaSet"): _replicated,
    ("", "ReplicationController"): _replicated,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
}


def _group_kind(obj: Mapping[str, Any]) -> tuple[str, str]:
    group, slash, _version = as_text(obj.get("apiVersion")).rpartition("/")
    return (group if slash else "", as_text(obj.get("kind")))


def _behind(metadata: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    generation, observed = as_int(metadata.get("generation")), as_int(status.get("observedGeneration"))
    return generation is not None and observed is not None and observed < generation


def _is(condition: Any, status: str) -> bool:
    return as_map(condition).get("status") == status


def _why(condition: Mapping[str, Any]) -> str:
    """Returns `Ready: AllUp`, or the status if the condition has no reason."""
    return f"{as_text(condition.get('type'))}: {as_text(condition.get('reason')) or as_text(condition.get('status'))}"
