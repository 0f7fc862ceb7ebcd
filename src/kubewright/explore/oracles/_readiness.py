"""The status: Ready only when the children are, and for the current generation."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.durations import format_duration
from kubewright.explore.model import Checkpoint, Finding, Outcome
from kubewright.explore.model._outcomes import Key
from kubewright.explore.oracles._isolation import made_by_operator

__all__ = ["is_ready", "ready_too_early", "ready_while_children_are_not", "recovered", "unobserved_generation"]

_READY_TYPES: Final = frozenset({"Ready", "Available"})
_READY_PHASES: Final = frozenset({"Ready", "Running", "Available", "Active", "Healthy", "Deployed"})
_WORKLOADS: Final = frozenset({"deployments.apps", "statefulsets.apps", "replicasets.apps", "daemonsets.apps", "pods"})
_READY_LATER: Final = frozenset({"jobs.batch", "pods", "events"})
"""Children that an operator may create after it is ready."""


def is_ready(obj: dict[str, Any]) -> bool:
    """Returns whether a custom resource says that it is ready."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return False
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else []:
        if isinstance(condition, dict) and condition.get("type") in _READY_TYPES:
            return condition.get("status") == "True"
    if isinstance(status.get("ready"), bool):
        return bool(status["ready"])
    return any(str(status.get(name, "")).capitalize() in _READY_PHASES for name in ("phase", "state"))


def _works(resource: str, obj: dict[str, Any]) -> bool:
    """Returns whether a workload is ready."""
    status = obj.get("status", {})
    spec = obj.get("spec", {})
    if resource == "pods":
        conditions = status.get("conditions") or []
        ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
        return ready or status.get("phase") == "Succeeded"
    if resource == "daemonsets.apps":
        return bool(status.get("numberReady", 0) >= status.get("desiredNumberScheduled", 0))
    return bool(status.get("readyReplicas", 0) >= spec.get("replicas", 1))


def ready_too_early(outcome: Outcome, subject: Key, *, disturbed: bool = False) -> list[Finding]:
    """The status becomes ready only after all workloads were ready once and all children exist.

    Args:
        outcome: the run.
        subject: the custom resource.
        disturbed: whether the run has faults. Children that another client deletes may then be missing.
    """
    created: dict[Key, str] = {}
    others = _others(outcome, subject)
    worked: set[Key] = set()
    workloads: dict[Key, dict[str, Any]] = {}
    ready_at: dict[str, int] = {}
    for number, write in enumerate(outcome.writes):
        if write.before is None:
            created[write.key] = write.actor
        if write.after is None:
            workloads.pop(write.key, None)
            worked.discard(write.key)
            continue
        if write.resource in _WORKLOADS and created.get(write.key) == "operator":
            obj = msgspec.json.decode(write.after)
            if not others & _owners(obj):
                workloads[write.key] = obj
            if _works(write.resource, obj):
                worked.add(write.key)
        if write.key != subject or write.actor != "operator":
            continue
        after = msgspec.json.decode(write.after)
        before = msgspec.json.decode(write.before) if write.before is not None else {}
        if not is_ready(after) or is_ready(before):
            continue
        waiting = sorted(key for key in workloads if key not in worked)
        if waiting:
            resource, namespace, name = waiting[0]
            return [
                Finding(
                    "ready-too-early",
                    f"the status says ready, but {resource} {namespace}/{name} has never been ready",
                    (f"{format_duration(write.time)} after the start",),
                    subject=resource,
                )
            ]
        ready_at.setdefault(after["metadata"]["uid"], number)
    return [] if disturbed else _created_later(outcome, ready_at, subject, others)


def _others(outcome: Outcome, subject: Key) -> set[str]:
    """Returns the uids of the user's other objects, which may have children, too."""
    return {
        msgspec.json.decode(write.after)["metadata"]["uid"]
        for write in outcome.writes
        if write.before is None and write.after is not None and write.actor == "user" and write.key != subject
    }


def _owners(obj: dict[str, Any]) -> set[str]:
    """Returns the uids of the owners of an object."""
    return {owner["uid"] for owner in obj["metadata"].get("ownerReferences", [])}


def _created_later(outcome: Outcome, ready_at: dict[str, int], subject: Key, others: set[str]) -> list[Finding]:
    for first in ready_at.values():
        step = outcome.writes[first].step
        time = outcome.writes[first].time
        for write in outcome.writes[first:]:
            late = write.before is None and write.actor == "operator" and write.resource not in _READY_LATER
            if late and write.time - time < 30 and _same_wait(outcome, step, write.step) and write.key != subject:
                if write.after is not None and others & _owners(msgspec.json.decode(write.after)):
                    continue
                return [
                    Finding(
                        "ready-too-early",
                        f"the status says ready before {write.resource} {write.namespace}/{write.name} exists",
                        (f"ready after {format_duration(time)}, created {format_duration(write.time - time)} later",),
                        subject=write.resource,
                    )
                ]
    return []


def _same_wait(outcome: Outcome, one: int, other: int) -> bool:
    """Returns whether both steps are followed by the same wait."""
    return not any(one < checkpoint.step < other for checkpoint in outcome.checkpoints) and other - one <= 1


def ready_while_children_are_not(checkpoint: Checkpoint, outcome: Outcome, subject: Key) -> list[Finding]:
    """A status is not ready while a workload of the operator is not, once the cluster is quiet."""
    obj = checkpoint.world.get(subject)
    if obj is None or not is_ready(obj) or "deletionTimestamp" in obj["metadata"]:
        return []
    made = {write.key for write in outcome.writes if write.before is None and write.actor == "operator"}
    others = _others(outcome, subject)
    for key, child in checkpoint.world.items():
        if key in made and not others & _owners(child) and key[0] in _WORKLOADS and not _works(key[0], child):
            resource, namespace, name = key
            return [
                Finding(
                    "ready-too-early",
                    f"the status says ready, but {resource} {namespace}/{name} is not ready",
                    subject=resource,
                )
            ]
    return []


def recovered(usual: Checkpoint, checkpoint: Checkpoint) -> list[Finding]:
    """Returns a finding if a workload is not ready that is ready in the usual checkpoint, with the same spec."""
    for key, child in sorted(checkpoint.world.items()):
        before = usual.world.get(key)
        if before is not None and key[0] in _WORKLOADS and _works(key[0], before) and not _works(key[0], child):
            resource, namespace, name = key
            return [
                Finding(
                    "rolled-back-spec",
                    f"the image was changed back, but {resource} {namespace}/{name} is not ready",
                    _waiting_reasons(child),
                    subject=resource,
                )
            ]
    return []


def _waiting_reasons(workload: dict[str, Any]) -> tuple[str, ...]:
    """Returns why the containers of a pod wait."""
    statuses = workload.get("status", {}).get("containerStatuses") or ()
    waiting = [each.get("state", {}).get("waiting") for each in statuses]
    return tuple(f"{state.get('reason', '')}: {state.get('message', '')}" for state in waiting if state)


def refuses(usual: Outcome, changed: Outcome, subject: Key, *, text: bool) -> bool:
    """Returns whether the operator refuses a value: it may then keep the state of the last value that it accepted.

    It refuses a value if the object is ready with the usual value and not with this one. If the value is a string, such
    as the name of an object that does not exist, it also refuses it if it creates nothing.

    Args:
        usual: a fresh start with the usual value.
        changed: a fresh start with the changed value.
        subject: the custom resource.
        text: whether the value is a string.
    """
    before, after = (outcome.checkpoints[-1].world.get(subject) for outcome in (usual, changed))
    if before is None or after is None:
        return False
    if is_ready(before) and not is_ready(after):
        return True
    return text and bool(made_by_operator(usual)) and not made_by_operator(changed)


def unobserved_generation(checkpoint: Checkpoint, subject: Key, schema: dict[str, Any]) -> list[Finding]:
    """`observedGeneration` equals the generation once the cluster is quiet, if the kind has the field."""
    obj = checkpoint.world.get(subject)
    if obj is None or "deletionTimestamp" in obj["metadata"]:
        return []
    generation = obj["metadata"].get("generation", 0)
    status = obj.get("status")
    if not isinstance(status, dict):
        return []
    declared = schema.get("properties", {}).get("status", {}).get("properties", {})
    stale: dict[str, Any] = {}
    if "observedGeneration" in declared and status.get("observedGeneration", 0) != generation:
        stale["status.observedGeneration"] = status.get("observedGeneration")
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else []:
        if isinstance(condition, dict) and condition.get("type") in _READY_TYPES:
            seen = condition.get("observedGeneration")
            if seen and seen != generation:
                stale[f"observedGeneration of condition {condition.get('type')}"] = seen
    for name, seen in stale.items():
        return [
            Finding(
                "observed-generation",
                f"{name} is {seen}, but the generation is {generation}",
                subject=name,
            )
        ]
    return []
