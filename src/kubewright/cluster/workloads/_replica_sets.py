"""ReplicaSets: maintain a number of pods."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import apps, core
from kubewright.client import ApiError, Forbidden, Invalid
from kubewright.cluster.workloads._pace import Pace
from kubewright.cluster.workloads._pods import (
    claimed,
    deletion_order,
    earliest,
    has_ended,
    is_active,
    is_available,
    is_ready,
    orphans,
    pod_from,
    selector_of,
    until_available,
)
from kubewright.cluster.workloads._rollouts import replicas_of, state_of, template_of
from kubewright.cluster.workloads._statuses import moment, write_status

__all__ = ["register"]

_BURST = 500


def register(operator: kw.Operator) -> None:
    """Registers the controller of ReplicaSets."""
    watch_orphans = orphans(core.Pod, apps.ReplicaSet, lambda replica_set: replica_set.spec.selector)
    pace = Pace()

    async def reconcile(replica_set: apps.ReplicaSet, ctx: kw.Context[apps.ReplicaSet]) -> kw.Result | None:
        """Reconciles, but large ReplicaSets not too often."""
        if (later := pace.wait(ctx)) is not None:
            return later
        result = await sync(replica_set, ctx)
        pace.record(ctx, replicas_of(replica_set))
        return result

    operator.reconciles(apps.ReplicaSet, owns=[core.Pod], watches=[watch_orphans])(reconcile)


async def sync(replica_set: apps.ReplicaSet, ctx: kw.Context[apps.ReplicaSet]) -> kw.Result | None:
    """Creates or deletes pods until their number matches, and writes the status."""
    pods = await claimed(ctx, core.Pod, selector_of(replica_set.spec.selector))
    active = [pod for pod in pods if is_active(pod)]
    failure: ApiError | None = None
    try:
        await _manage(replica_set, active, ctx)
    except (Forbidden, Invalid) as error:
        failure = error
    terminating = sum(pod.metadata.deletion_timestamp is not None and not has_ended(pod) for pod in pods)
    await _write_status(replica_set, active, terminating, failure, ctx)
    if failure is not None:
        return kw.Result(requeue=True)
    now, wait = ctx.clock.now(), replica_set.spec.min_ready_seconds or 0
    after = earliest(until_available(pod, wait, now) for pod in active)
    return None if after is None else kw.Result(requeue_after=after)


async def _manage(replica_set: apps.ReplicaSet, active: list[core.Pod], ctx: kw.Context[apps.ReplicaSet]) -> None:
    """Creates or deletes pods. `active` is not changed: the status reports the pods that existed before."""
    wanted = replicas_of(replica_set)
    template = template_of(replica_set)
    for _ in range(min(wanted - len(active), _BURST)):
        try:
            made = await ctx.create(pod_from(template, prefix=replica_set.metadata.name))
        except ApiError as error:
            ctx.record("FailedCreate", f"Error creating: {error}", "Warning")
            raise
        ctx.record("SuccessfulCreate", f"Created pod: {made.metadata.name}")
    surplus = len(active) - wanted
    for pod in sorted(active, key=deletion_order)[:surplus] if surplus > 0 else ():
        await ctx.delete(pod)
        ctx.record("SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")


async def _write_status(
    replica_set: apps.ReplicaSet,
    active: list[core.Pod],
    terminating: int,
    failure: ApiError | None,
    ctx: kw.Context[apps.ReplicaSet],
) -> None:
    spec, before, now = replica_set.spec, state_of(replica_set), moment(ctx)
    labels = template_of(replica_set).metadata.labels.items()
    minimum = spec.min_ready_seconds or 0
    conditions = [each for each in before.conditions or () if each.type != "ReplicaFailure"]
    if failure is not None:
        known = next((each for each in before.conditions or () if each.type == "ReplicaFailure"), None)
        made = apps.ReplicaSetCondition(
            type="ReplicaFailure",
            status="True",
            last_transition_time=now,
            reason="FailedCreate" if len(active) < replicas_of(replica_set) else "FailedDelete",
            message=str(failure),
        )
        conditions.append(known if known is not None and known.reason == made.reason else made)
    status = apps.ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(labels <= pod.metadata.labels.items() for pod in active) or None,
        ready_replicas=sum(map(is_ready, active)) or None,
        available_replicas=sum(is_available(pod, minimum, now) for pod in active) or None,
        terminating_replicas=terminating,
        observed_generation=replica_set.metadata.generation,
        conditions=conditions or None,
    )
    await write_status(ctx, status)
