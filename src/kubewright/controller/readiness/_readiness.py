"""`readiness_of`: the rules for all kinds."""

from __future__ import annotations

from typing import Any

import msgspec

from kubewright.api import Object, to_dict
from kubewright.controller.readiness._results import CURRENT, Readiness, ReadyState, conditions_of, in_progress
from kubewright.controller.readiness._workloads import RULES

__all__ = ["Readiness", "ReadyState", "readiness_of"]


def readiness_of(obj: Object) -> Readiness:
    """Returns the state of an object that was read from a server."""
    origin = obj.metadata.origin
    content: dict[str, Any] = msgspec.json.decode(origin.raw) if origin is not None else to_dict(obj)
    metadata, status = content.get("metadata") or {}, content.get("status") or {}
    if not isinstance(status, dict):
        return CURRENT
    if metadata.get("deletionTimestamp"):
        return Readiness("Terminating", "Terminating", "is being deleted")
    return _by_generation(metadata, status) or _by_conditions(status) or _by_kind(content)


def _by_generation(metadata: dict[str, Any], status: dict[str, Any]) -> Readiness | None:
    generation, observed = metadata.get("generation"), status.get("observedGeneration")
    if generation is None or observed is None or generation == observed:
        return None
    return in_progress("LatestGenerationNotObserved", f"generation {generation} is not observed yet")


def _by_conditions(status: dict[str, Any]) -> Readiness | None:
    for condition in conditions_of(status):
        if condition.get("status") == "True" and condition.get("type") in ("Reconciling", "Stalled"):
            state: ReadyState = "InProgress" if condition["type"] == "Reconciling" else "Failed"
            return Readiness(state, condition.get("reason") or condition["type"], condition.get("message") or "")
    return None


def _by_kind(content: dict[str, Any]) -> Readiness:
    group = str(content.get("apiVersion") or "").rpartition("/")[0]
    rule = RULES.get((group, content.get("kind") or ""))
    if rule is not None:
        return rule(content.get("spec") or {}, content.get("status") or {})
    for condition in conditions_of(content.get("status") or {}):
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            return in_progress(condition.get("reason") or "NotReady", condition.get("message") or "is not ready")
    return CURRENT
