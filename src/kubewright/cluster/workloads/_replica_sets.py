"""ReplicaSets and ReplicationControllers: maintain a number of pods."""

from __future__ import annotations

from typing import Any, TypeAlias

import kubewright as kw
from kubewright.api import apps, core, meta
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
from kubewright.cluster.workloads._rollouts import replicas_of, template_of
from kubewright.cluster.workloads._statuses import moment, write_status

__all__ = ["register"]

_BURST = 500

Owner: TypeAlias = apps.ReplicaSet | core.ReplicationController


def register(operator: kw.Operator) -> None:
    """Registers the controllers of ReplicaSets and ReplicationControllers."""
    for kind in (apps.ReplicaSet, core.ReplicationController):
        _register(operator, kind)


def _register(operator: kw.Operator, kind: type[Owner]) -> None:
    pace = Pace()

    async def reconcile(owner: Any, ctx: kw.Context[Any]) -> kw.Result | None:
        """Reconciles, but objects with many pods not too often."""
        if (later := pace.wait(ctx)) is not None:
            return later
        result = await sync(owner, ctx)
        pace.record(ctx, replicas_of(owner))
        return result

    reconcile.__name__ = kind.__name__.lower()
    operator.reconciles(kind, owns=[core.Pod], watches=[orphans(operator, core.Pod, kind, _selector)])(reconcile)


def _selector(owner: Owner) -> meta.LabelSelector | None:
    """Returns the selector. That of a ReplicationController is a map of labels."""
    given = owner.spec.selector
    return meta.LabelSelector(match_labels=dict(given)) if isinstance(given, dict) else given


async def sync(owner: Owner, ctx: kw.Context[Any]) -> kw.Result | None:
    """Creates or deletes pods until their number matches, and writes the status."""
    pods = await claimed(ctx, core.Pod, selector_of(_selector(owner)))
    active = [pod for pod in pods if is_active(pod)]
    failure: ApiError | None = None
    try:
        await _manage(owner, active, ctx)
    except (Forbidden, Invalid) as error:
        failure = error
    terminating = sum(pod.metadata.deletion_timestamp is not None and not has_ended(pod) for pod in pods)
    await _write_status(owner, active, terminating, failure, ctx)
    if failure is not None:
        return kw.Result(requeue=True)
    now, wait = ctx.clock.now(), owner.spec.min_ready_seconds or 0
    after = earliest(until_available(pod, wait, now) for pod in active)
    return None if after is None else kw.Result(requeue_after=after)


async def _manage(owner: Owner, active: list[core.Pod], ctx: kw.Context[Any]) -> None:
    """Creates or deletes pods. `active` is not changed: the status reports the pods that existed before."""
    wanted = replicas_of(owner)
    template = template_of(owner)
    for _ in range(min(wanted - len(active), _BURST)):
        try:
            made = await ctx.create(pod_from(template, prefix=owner.metadata.name))
        except ApiError as error:
            ctx.record("FailedCreate", f"Error creating: {error}", "Warning")
            raise
        ctx.record("SuccessfulCreate", f"Created pod: {made.metadata.name}")
    surplus = len(active) - wanted
    for pod in sorted(active, key=deletion_order)[:surplus] if surplus > 0 else ():
        await ctx.delete(pod)
        ctx.record("SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")


async def _write_status(
    owner: Owner, active: list[core.Pod], terminating: int, failure: ApiError | None, ctx: kw.Context[Any]
) -> None:
    now, minimum = moment(ctx), owner.spec.min_ready_seconds or 0
    labels = template_of(owner).metadata.labels.items()
    counts: dict[str, Any] = {
        "replicas": len(active),
        "fully_labeled_replicas": sum(labels <= pod.metadata.labels.items() for pod in active) or None,
        "ready_replicas": sum(map(is_ready, active)) or None,
        "available_replicas": sum(is_available(pod, minimum, now) for pod in active) or None,
        "observed_generation": owner.metadata.generation,
        "conditions": _conditions(owner, active, failure, ctx) or None,
    }
    if isinstance(owner, core.ReplicationController):
        await write_status(ctx, core.ReplicationControllerStatus(**counts))
    else:
        await write_status(ctx, apps.ReplicaSetStatus(**counts, terminating_replicas=terminating))


def _conditions(owner: Owner, active: list[core.Pod], failure: ApiError | None, ctx: kw.Context[Any]) -> list[Any]:
    """Returns the conditions, with `ReplicaFailure` while pods cannot be created or deleted."""
    before = (owner.status.conditions if owner.status is not None else None) or []
    known = next((each for each in before if each.type == "ReplicaFailure"), None)
    kept: list[Any] = [each for each in before if each is not known]
    if failure is None:
        return kept
    reason = "FailedCreate" if len(active) < replicas_of(owner) else "FailedDelete"
    if known is not None and known.reason == reason:
        return [*kept, known]
    controls = isinstance(owner, core.ReplicationController)
    condition = core.ReplicationControllerCondition if controls else apps.ReplicaSetCondition
    made = {"type": "ReplicaFailure", "status": "True", "reason": reason, "message": str(failure)}
    return [*kept, condition(**made, last_transition_time=moment(ctx))]
