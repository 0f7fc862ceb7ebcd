"""Leader election of a run: whether it takes part, in which Lease, and what happens when the lease is lost."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

from kubewright.client import Client
from kubewright.clock import Clock
from kubewright.durations import format_duration
from kubewright.operator.settings import SettingError, Settings
from kubewright.tasks import cancel_and_wait

if TYPE_CHECKING:
    from kubewright.election import ElectionEvent, LeaderElector
    from kubewright.events import EventRecorder

__all__ = ["lead", "make_elector", "record_election"]

logger = logging.getLogger("kubewright.operator")

_NO_NAMESPACE: Final = (
    "leader election needs a namespace for its Lease, and this process does not run in a pod, which would have one: "
    "set it with --lease-namespace, KUBEWRIGHT_LEASE_NAMESPACE or Operator(lease_namespace=...)"
)


def make_elector(
    settings: Settings,
    client: Client,
    name: str,
    *,
    on_event: Callable[[ElectionEvent], object],
    clock: Clock | None,
    rng: random.Random | None,
) -> LeaderElector | None:
    """Returns the elector of an operator, not started yet; None if it works without leader election.

    Default: enabled in a pod, disabled elsewhere. Two replicas of a Deployment, or the old and the new pod of a
    rollout, must not both work, while an operator that a developer starts should work immediately.
    """
    wanted = client.in_cluster if settings.leader_elect is None else settings.leader_elect
    if not wanted:
        return None
    namespace = settings.lease_namespace or (client.namespace if client.in_cluster else None)
    if namespace is None:
        raise SettingError(_NO_NAMESPACE)
    from kubewright.election import LeaderElector

    try:
        return LeaderElector(
            client,
            settings.lease_name or name,
            namespace,
            lease_duration=settings.lease_duration,
            renew_deadline=settings.renew_deadline,
            retry_period=settings.retry_period,
            on_event=on_event,
            clock=clock,
            rng=rng,
        )
    except ValueError as error:
        raise SettingError(str(error)) from None


def record_election(event: ElectionEvent, elector: LeaderElector, recorder: EventRecorder) -> None:
    """Records a change of leadership as an event of the Lease, as client-go does.

    A replica that lost the lease writes nothing. The event of the next leader and the log report the loss.
    """
    from kubewright.api.core.v1 import ObjectReference

    if event.kind == "started":
        message = f"{elector.identity} became leader"
    elif event.kind == "stopped" and not event.lost:
        message = f"{elector.identity} stopped leading: {event.reason}"
    else:
        return
    lease = ObjectReference(
        api_version="coordination.k8s.io/v1",
        kind="Lease",
        name=elector.name,
        namespace=elector.namespace,
        uid=elector.lease_uid,  # without it, `kubectl describe` does not find the event
    )
    recorder.record(lease, "LeaderElection", message)


async def lead(
    elector: LeaderElector,
    operator: str,
    work: Callable[[], Awaitable[None]],
    *,
    stop: Callable[[], object],
    components: AsyncExitStack,
    clock: Clock,
    grace: float,
) -> None:
    """Waits for the leadership, starts the work, and stops it when the lease is lost. Then raises `NotLeader`.

    `components` are the attached components of the leader. They have `grace` seconds to end.
    """
    from kubewright.election import NotLeader

    await elector.wait_for_leadership()
    loss = asyncio.ensure_future(elector.wait_for_loss())
    start = asyncio.ensure_future(work())
    try:
        # The loss is noticed during the start too: a component that hangs there must not hide it.
        await asyncio.wait([start, loss], return_when=asyncio.FIRST_COMPLETED)
        if start.done():
            await start
        reason = await loss
    except Exception:
        logger.exception("operator %s is the leader, but cannot start its work", operator)
        raise
    finally:
        await cancel_and_wait(start, loss)
    # Another replica has the Lease or will have it soon: releasing it would be a write of a former leader.
    elector.release_on_exit = False
    stop()
    await _close_components(components, clock, grace)
    raise NotLeader(f"the leadership of {elector.namespace}/{elector.name} was lost: {reason}")


async def _close_components(components: AsyncExitStack, clock: Clock, grace: float) -> None:
    closing, timer = asyncio.ensure_future(components.aclose()), asyncio.ensure_future(clock.sleep(grace))
    await asyncio.wait([closing, timer], return_when=asyncio.FIRST_COMPLETED)
    timer.cancel()
    if closing.done():
        return await closing
    closing.cancel()
    logger.error("the components of the leader did not end within %s; no longer waiting", format_duration(grace))
    return None
