"""Disruption budgets: whether they allow an eviction, and the update of their status.

A controller in `kubewright.cluster.workloads` computes the allowed disruptions in a budget's status. An eviction
decrements them here and records the name of the pod, so that the controller does not count a pod that is about to be
deleted.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from kubewright.api import Selector, find_condition, from_dict, set_condition, to_dict
from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._authors import writing_as
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.registry._field_managers import manager_of
from kubewright.cluster.registry._store import commit
from kubewright.cluster.storage._storage import Entry, RevisionConflict

if TYPE_CHECKING:
    from datetime import datetime

    from kubewright.api.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetStatus

__all__ = ["DISRUPTION_ALLOWED", "SYNC_FAILED", "charge_eviction", "set_disruption_allowed"]

DISRUPTION_ALLOWED: Final = "DisruptionAllowed"
SYNC_FAILED: Final = "SyncFailed"
"""The reason of that condition if the expected number of pods is unknown."""

_SERVER: Final = User("system:apiserver", ("system:masters", "system:authenticated"))
_MANAGER: Final = "kube-apiserver"
_MAX_DISRUPTED_PODS: Final = 2000
_RETRY_SECONDS: Final = 10


def set_disruption_allowed(status: PodDisruptionBudgetStatus, now: datetime) -> None:
    """Sets the condition from the number of allowed disruptions."""
    allowed = bool(status.disruptions_allowed)
    reason = "SufficientPods" if allowed else "InsufficientPods"
    set_condition(status, DISRUPTION_ALLOWED, allowed, reason, now=now, observed_generation=status.observed_generation)


async def charge_eviction(state: State, pod: JSONObject, *, dry_run: bool) -> None:
    """Charges the eviction of a running pod to its budget, if it has one. Raises the 429 of a denied eviction."""
    type_ = state.types.find("policy", "v1", "poddisruptionbudgets")
    assert type_ is not None
    while (found := _budget_of(state, type_, pod)) is not None:
        entry, budget = found
        if not _is_ready(pod) and _allows_unready(budget):
            return
        _check(budget)
        if dry_run:
            return
        with contextlib.suppress(RevisionConflict):  # it changed during admission
            await _decrement(state, type_, entry, budget, pod["metadata"]["name"])
            return


def _budget_of(state: State, type_: ResourceType, pod: JSONObject) -> tuple[Entry, PodDisruptionBudget] | None:
    from kubewright.api.policy.v1 import PodDisruptionBudget

    metadata, found = pod["metadata"], []
    for entry in state.storage.entries(type_.storage, metadata["namespace"]):
        budget = from_dict(PodDisruptionBudget, entry.decode())
        if Selector.from_label_selector(budget.spec.selector).matches(metadata.get("labels")):
            found.append((entry, budget))
    if len(found) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise Failure(500, "", text)
    return found[0] if found else None


def _is_ready(pod: JSONObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _allows_unready(budget: PodDisruptionBudget) -> bool:
    """Returns whether an unready pod may be evicted: if enough others are healthy, or always with AlwaysAllow."""
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    wanted = budget.status.desired_healthy or 0
    return 0 < wanted <= (budget.status.current_healthy or 0)


def _check(budget: PodDisruptionBudget) -> None:
    name, status = budget.metadata.name, budget.status
    if (status.observed_generation or 0) < (budget.metadata.generation or 0):
        raise _refusal(f"The disruption budget {name} is still being processed by the server.", _RETRY_SECONDS)
    if len(status.disrupted_pods or ()) > _MAX_DISRUPTED_PODS:
        raise _too_many_disrupted_pods(name)
    if not status.disruptions_allowed:
        raise _refusal(f"The disruption budget {name} {_reason(status)}", None)


def _reason(status: PodDisruptionBudgetStatus) -> str:
    nothing = "does not allow evicting pods currently"
    wanted, healthy = status.desired_healthy or 0, status.current_healthy or 0
    condition = find_condition(status, DISRUPTION_ALLOWED)
    if condition is not None and (condition.status != "False" or not condition.message):
        condition = None
    if condition is not None and condition.reason == SYNC_FAILED:
        return f"{nothing} because it failed sync: {condition.message}"
    if healthy <= wanted:
        return f"needs {wanted} healthy pods and has {healthy} currently"
    return nothing if condition is None else f"{nothing} ({condition.reason}): {condition.message}"


def _too_many_disrupted_pods(name: str) -> Failure:
    why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
    text = f'poddisruptionbudget.policy "{name}" is forbidden: {why}'
    return Failure(403, "Forbidden", text, {"name": name, "group": "policy", "kind": "poddisruptionbudget"})


def _refusal(why: str, pause: int | None) -> Failure:
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    details: JSONObject = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if pause is not None:
        details["retryAfterSeconds"] = pause
    return Failure(429, "TooManyRequests", text, details, retry_after=pause)


async def _decrement(state: State, type_: ResourceType, entry: Entry, budget: PodDisruptionBudget, pod: str) -> None:
    """Writes the budget as the real server does: as a separate API request, including admission."""
    now, status = state.clock.now().replace(microsecond=0), budget.status
    status.disruptions_allowed = (status.disruptions_allowed or 0) - 1
    status.disrupted_pods = {**(status.disrupted_pods or {}), pod: now}
    if not status.disruptions_allowed:
        set_disruption_allowed(status, now)
    old = decoded(type_, entry)
    given = {**old, "status": to_dict(status)}
    changed = manager_of(state, type_, "status").update(old, given, _MANAGER, state.now())
    asked = Attributes(
        operation="UPDATE",
        type=type_,
        user=_SERVER,
        verb="update",
        namespace=entry.namespace,
        name=entry.name,
        subresource="status",
        object=changed,
        old=old,
        options={"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    )
    await state.admission.admit(asked)
    assert asked.object is not None
    with writing_as(_SERVER.name):
        commit(state, type_, asked.object, entry)
