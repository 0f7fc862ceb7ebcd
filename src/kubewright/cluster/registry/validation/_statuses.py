"""Validation of the statuses of workloads, which their controllers write."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubewright.cluster.machinery._field_errors import FieldError, invalid
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import at_least_zero

__all__ = ["workload_status_errors"]


class _Counts(NamedTuple):
    """The numbers of a status: those that must not be negative, and those that `replicas` bounds, in order."""

    natural: tuple[str, ...]
    bounded: tuple[str, ...] = ()
    ready: str = "readyReplicas"


_REPLICATED: Final = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
_COUNTS: Final = {
    "Deployment": _Counts(
        (
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ),
        ("updatedReplicas", "readyReplicas", "availableReplicas"),
    ),
    "ReplicaSet": _Counts(
        (*_REPLICATED, "terminatingReplicas"), ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    ),
    "ReplicationController": _Counts(_REPLICATED, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")),
    "StatefulSet": _Counts(
        (
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ),
        ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
        "status.readyReplicas",
    ),
    "DaemonSet": _Counts(
        (
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        )
    ),
}


def workload_status_errors(obj: JSONObject, old: JSONObject) -> list[FieldError]:
    """Validates the numbers in the status of a workload."""
    status, before = obj.get("status") or {}, old.get("status") or {}
    counts = _COUNTS[obj["kind"]]
    errors = [error for field in counts.natural for error in at_least_zero(status, field, "status")]
    errors += [
        invalid(f"status.{field}", status.get(field, 0), "cannot be greater than status.replicas")
        for field in counts.bounded
        if status.get(field, 0) > status.get("replicas", 0)
    ]
    available = status.get("availableReplicas", 0)
    if counts.bounded and available > status.get("readyReplicas", 0):
        errors.append(invalid("status.availableReplicas", available, f"cannot be greater than {counts.ready}"))
    if "collisionCount" in counts.natural and status.get("collisionCount", 0) < before.get("collisionCount", 0):
        errors.append(invalid("status.collisionCount", status.get("collisionCount", 0), "cannot be decremented"))
    return errors
