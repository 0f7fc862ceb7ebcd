"""Disruption budgets: computes the healthy pods and the allowed disruptions, which evictions decrement."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import kubewright as kw
from kubewright.api import (
    Selector,
    apps,
    controller_of,
    core,
    format_time,
    info_of,
    meta,
    policy,
    scaled_value,
    set_condition,
)
from kubewright.cache import ObjectKey
from kubewright.client import NotFound
from kubewright.cluster.nodes import DISRUPTION_ALLOWED, SYNC_FAILED, set_disruption_allowed, write_status
from kubewright.cluster.workloads._pods import condition_of, has_ended, is_ready
from kubewright.cluster.workloads._rollouts import replicas_of
from kubewright.cluster.workloads._selecting import SelectorIndex
from kubewright.cluster.workloads._statuses import moment
from kubewright.controller import Reader

__all__ = ["register"]

Budget = policy.PodDisruptionBudget

_DISRUPTION_TIMEOUT: Final = timedelta(minutes=2)
"""How long an announced disruption of a pod counts. After that, the pod is assumed to stay."""
_DISRUPTION_TARGET: Final = "DisruptionTarget"


class UnknownScale(Exception):
    """The expected number of pods cannot be determined."""


def register(operator: kw.Operator) -> None:
    """Registers the controller of disruption budgets."""
    budgets = SelectorIndex(operator, Budget, lambda budget: Selector.from_label_selector(budget.spec.selector))

    def budgets_of(pod: core.Pod, reader: Reader) -> list[ObjectKey]:
        return budgets.matching(reader, pod.metadata.namespace, pod.metadata.labels)

    operator.reconciles(Budget, watches=[kw.Watch(core.Pod, map=budgets_of)], name="disruption")(count)
    operator.reconciles(core.Pod, name="stale-disruptions")(withdraw_disruption)


async def count(budget: Budget, ctx: kw.Context[Budget]) -> kw.Result | None:
    """Writes the allowed disruptions into the budget's status."""
    pods = ctx.list(core.Pod, ctx.key.namespace, Selector.from_label_selector(budget.spec.selector))
    if not pods:
        ctx.record("NoPods", "No matching pods found")
    now, before = ctx.clock.now(), budget.status
    status = policy.PodDisruptionBudgetStatus(conditions=copy.deepcopy(before.conditions))
    try:
        status.expected_pods, status.desired_healthy = await _expectation(budget.spec, pods, ctx)
    except UnknownScale as error:
        text = f"Failed to calculate the number of expected pods: {error}"
        ctx.record("CalculateExpectedPodCountFailed", text, "Warning")
        await _disallow(budget, str(error), ctx)
        return None
    disrupted = _disrupted(before.disrupted_pods or {}, pods, now)
    healthy = [pod for pod in pods if is_ready(pod) and not _is_disrupted(pod, disrupted)]
    spare = len(healthy) - status.desired_healthy if status.expected_pods > 0 else 0
    status.current_healthy, status.disruptions_allowed = len(healthy), max(spare, 0)
    status.disrupted_pods, status.observed_generation = dict(disrupted) or None, budget.metadata.generation
    set_disruption_allowed(status, moment(ctx))
    await _write(budget, status, ctx)
    ends = [since + _DISRUPTION_TIMEOUT for since in disrupted.values()]
    return kw.Result(requeue_after=(min(ends) - now).total_seconds()) if ends else None


async def _write(budget: Budget, status: policy.PodDisruptionBudgetStatus, ctx: kw.Context[Budget]) -> None:
    """Writes the status if it changed. A concurrent eviction causes a conflict, so that its update is not lost."""
    if status != budget.status:
        budget.status = status
        await ctx.client.update_status(budget)


async def _disallow(budget: Budget, why: str, ctx: kw.Context[Budget]) -> None:
    status = copy.deepcopy(budget.status)
    status.disruptions_allowed = 0
    generation = status.observed_generation
    set_condition(status, DISRUPTION_ALLOWED, False, SYNC_FAILED, why, now=moment(ctx), observed_generation=generation)
    await _write(budget, status, ctx)


# Expected pods


async def _expectation(
    spec: policy.PodDisruptionBudgetSpec, pods: Sequence[core.Pod], ctx: kw.Context[Budget]
) -> tuple[int, int]:
    """Returns the expected number of pods, and how many of them must be healthy."""
    if spec.max_unavailable is not None:
        expected = await _scale(spec, pods, ctx)
        return expected, max(expected - scaled_value(spec.max_unavailable, expected, round_up=True), 0)
    if isinstance(spec.min_available, int):
        return len(pods), spec.min_available
    if spec.min_available is not None:
        expected = await _scale(spec, pods, ctx)
        return expected, scaled_value(spec.min_available, expected, round_up=True)
    return 0, 0


async def _scale(spec: policy.PodDisruptionBudgetSpec, pods: Sequence[core.Pod], ctx: kw.Context[Budget]) -> int:
    """Returns the total size of the controllers of these pods."""
    scales: dict[str, tuple[str, int]] = {}
    for pod in pods:
        controller = controller_of(pod)
        if controller is not None and controller.uid not in scales:
            scales[controller.uid] = await _scale_of(pod, controller, ctx)
    if any(controller_of(pod) is None for pod in pods):
        ctx.record(
            "UnmanagedPods",
            f"Pods selected by this PodDisruptionBudget (selector: {Selector.from_label_selector(spec.selector)}) were "
            "found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may "
            'result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the '
            "PDB to an integer value.",
            "Warning",
        )
    return sum(dict(scales.values()).values())


async def _scale_of(pod: core.Pod, owner: meta.OwnerReference, ctx: kw.Context[Budget]) -> tuple[str, int]:
    """Returns the uid and size of the controller of a pod."""
    if owner.kind == "ReplicaSet" and owner.api_version.startswith("apps/"):
        replica_set = ctx.get(apps.ReplicaSet, owner.name)
        if replica_set is not None and replica_set.metadata.uid == owner.uid:
            above = controller_of(replica_set)
            if above is None or above.kind != "Deployment":
                return owner.uid, replicas_of(replica_set)
            deployment = ctx.get(apps.Deployment, above.name)
            if deployment is not None and deployment.metadata.uid == above.uid:
                return above.uid, replicas_of(deployment)
    try:
        kind = await ctx.client.kind(owner.api_version, owner.kind)
    except NotFound as error:
        raise UnknownScale(f'no matches for kind "{owner.kind}" in version "{owner.api_version}"') from error
    info = info_of(kind)
    if "scale" not in info.subresources:
        raise UnknownScale(f"{info.plural}.{info.group} does not implement the scale subresource")
    try:
        scale = await ctx.client.get_scale(kind, owner.name, ctx.key.namespace)
    except NotFound:
        scale = None
    if scale is None or scale.metadata.uid != owner.uid:
        raise UnknownScale(f'found no controllers for pod "{pod.metadata.name}"')
    return owner.uid, scale.spec.replicas or 0


# Disrupted pods


def _disrupted(named: dict[str, datetime | None], pods: Sequence[core.Pod], now: datetime) -> dict[str, datetime]:
    """Returns the evicted pods that still exist, with the time of their eviction. Expired ones are dropped."""
    there = [pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is None]
    times = {name: since for name in there if (since := named.get(name)) is not None}
    return {name: since for name, since in times.items() if since + _DISRUPTION_TIMEOUT > now}


def _is_disrupted(pod: core.Pod, disrupted: dict[str, datetime]) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.metadata.name in disrupted


async def withdraw_disruption(pod: core.Pod, ctx: kw.Context[core.Pod]) -> kw.Result | None:
    """Withdraws the disruption condition of a pod that was not deleted in time."""
    condition = condition_of(pod, _DISRUPTION_TARGET)
    if condition is None or condition.status != "True" or condition.reason == "TerminationByKubelet" or has_ended(pod):
        return None
    if pod.metadata.deletion_timestamp is not None or condition.last_transition_time is None:
        return None
    left = (condition.last_transition_time + _DISRUPTION_TIMEOUT - ctx.clock.now()).total_seconds()
    if left > 0:
        return kw.Result(requeue_after=left)
    withdrawn = {"status": "False", "reason": None, "message": None, "lastTransitionTime": format_time(moment(ctx))}
    await write_status(ctx.client, pod, {"conditions": [{"type": _DISRUPTION_TARGET, **withdrawn}]})
    return None
