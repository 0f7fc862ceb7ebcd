"""Pods are replaced one at a time: replicas first, then a switch-over, then the former primary.

Each call does one step and returns what the cluster waits for. The next change of a pod triggers the next step, and a
failover in between changes only which pod is next.
"""

from collections.abc import Sequence

import kubewright as kw
from kubewright.api import apps, core, is_condition_true
from postgres_operator.children import CLUSTER_INDEX, ordinal_of
from postgres_operator.engine import Engine, Members
from postgres_operator.kinds import Postgresql
from postgres_operator.patroni import PRIMARY, ROLE_LABEL, Member, PatroniRefused

REVISION = "controller-revision-hash"


def pods_of(cluster: Postgresql, ctx: kw.Context[Postgresql]) -> list[core.Pod]:
    """Returns the pods of a cluster by their number."""
    found = ctx.by_index(core.Pod, CLUSTER_INDEX, cluster.metadata.name, namespace=cluster.metadata.namespace)
    return sorted(found, key=lambda pod: ordinal_of(pod.metadata.name))


def is_ready(pod: core.Pod) -> bool:
    """Returns whether a pod is ready and stays."""
    return pod.metadata.deletion_timestamp is None and is_condition_true(pod.status, "Ready")


def primary_of(pods: Sequence[core.Pod]) -> core.Pod | None:
    """Returns the pod that Patroni marks as the primary, if it is ready."""
    found = [pod for pod in pods if pod.metadata.labels.get(ROLE_LABEL) == PRIMARY and is_ready(pod)]
    return found[0] if found else None


async def switch_before_shrinking(
    ctx: kw.Context[Postgresql], engine: Engine, pods: Sequence[core.Pod], size: int
) -> bool:
    """Moves the primary to a pod that stays before a scale-down. Returns whether the scale-down must wait."""
    if size == 0 or all(ordinal_of(pod.metadata.name) < size for pod in pods) or not any(map(is_ready, pods)):
        return False
    async with engine.patroni(pods) as patroni:
        members = await patroni.members()
        leader = next((member for member in members if member.is_leader), None)
        if leader is None:
            return True  # a failover is in progress; without a primary, no pod can be chosen to stay
        if ordinal_of(leader.name) < size:
            return False
        staying = [member for member in members if member.is_running and ordinal_of(member.name) < size]
        await _switch_over(ctx, patroni, leader, staying)
    return True


async def replace_outdated(
    ctx: kw.Context[Postgresql],
    engine: Engine,
    stateful_set: apps.StatefulSet,
    pods: Sequence[core.Pod],
) -> str | None:
    """Does the next step of a rolling update. Returns what the update waits for, None if all pods are up to date."""
    status = stateful_set.status or apps.StatefulSetStatus(replicas=0)
    if (status.observed_generation or 0) < (stateful_set.metadata.generation or 0):
        return "the StatefulSet controller has not observed the new template yet"
    current = status.update_revision
    outdated = [pod for pod in pods if pod.metadata.labels.get(REVISION) != current]
    if not outdated:
        return None
    broken = [pod for pod in pods if not is_ready(pod)]
    if broken:
        # A pod that cannot start, for instance because of its image, is replaced without waiting for it.
        stuck = [pod for pod in broken if pod in outdated and pod.metadata.deletion_timestamp is None]
        others_ready = len(broken) == 1 or len(broken) == len(pods)
        if stuck and others_ready:
            return await _replace(ctx, stuck[-1])
        return f"pod {broken[0].metadata.name} is not ready"
    async with engine.patroni(pods) as patroni:
        members = await patroni.members()
        leader = next((member for member in members if member.is_leader), None)
        if leader is None:
            return "there is no primary"
        replicas = [pod for pod in outdated if pod.metadata.name != leader.name]
        if replicas:
            waiting = _not_running(members)
            return waiting or await _replace(ctx, replicas[-1])
        if len(pods) == 1:
            return await _replace(ctx, outdated[0])
        return await _switch_over(ctx, patroni, leader, [member for member in members if member.is_running])


async def restart_pending(
    ctx: kw.Context[Postgresql], patroni: Members, pods: Sequence[core.Pod], *, is_loading: bool
) -> str | None:
    """Restarts the next member whose parameters require it. Returns what it waits for, None if no member does.

    While the members are loading the parameters, the primary may be the first one to know that it needs a restart. It
    must not be replaced by a replica that needs one, too. A replica may be the first one to know of a smaller value.
    """
    members = await patroni.members()
    pending = [member for member in members if member.pending_restart]
    if not pending:
        return None
    leader = next((member for member in members if member.is_leader), None)
    if leader is None:
        return "there is no primary"
    if waiting := _not_running(members):
        return waiting
    if is_loading and not leader.pending_restart and any(each.restarts_first for each in pending):
        return f"{leader.name} loads its parameters"
    if leader.pending_restart and leader.restarts_first:
        ctx.record("Restarting", f"restarting {leader.name} first: replicas need at least its values")
        await patroni.restart(leader)
        return f"{leader.name} was restarted for its parameters"
    replicas = [member for member in pending if member is not leader]
    if replicas:
        ctx.record("Restarting", f"restarting {replicas[-1].name} for its parameters")
        await patroni.restart(replicas[-1])
        return f"{replicas[-1].name} was restarted for its parameters"
    if len(members) == 1:
        return await _replace(ctx, next(pod for pod in pods if pod.metadata.name == leader.name))
    if is_loading:
        return "the replicas load their parameters"
    return await _switch_over(ctx, patroni, leader, [member for member in members if member.is_running])


async def _replace(ctx: kw.Context[Postgresql], pod: core.Pod) -> str:
    ctx.record("ReplacingPod", f"replacing pod {pod.metadata.name}")
    await ctx.delete(pod)
    return f"pod {pod.metadata.name} is being replaced"


async def _switch_over(
    ctx: kw.Context[Postgresql], patroni: Members, leader: Member, candidates: Sequence[Member]
) -> str:
    """Moves the primary to the replica with the least lag. Waits if Patroni does not accept it yet."""
    replicas = sorted(
        (member for member in candidates if not member.is_leader),
        key=lambda member: (member.role != "sync_standby", member.lag if member.lag is not None else 1 << 62),
    )
    if not replicas:
        return f"no replica can take over from {leader.name}"
    try:
        await patroni.switchover(leader.name, replicas[0].name)
    except PatroniRefused as error:  # such as a replica that does not have every write yet
        return f"the primary cannot move from {leader.name} to {replicas[0].name} yet: {error}"
    ctx.record("Switchover", f"moved the primary from {leader.name} to {replicas[0].name}")
    return f"the primary moves from {leader.name} to {replicas[0].name}"


def _not_running(members: Sequence[Member]) -> str | None:
    stopped = [member.name for member in members if not member.is_running]
    return f"{stopped[0]} is not running" if stopped else None
