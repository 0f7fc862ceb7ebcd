"""Leader election for an operator: whether to stand, for which Lease, and what to tell of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from kubewright.client import Client
from kubewright.clock import Clock
from kubewright.operator.settings import SettingError, Settings

if TYPE_CHECKING:
    from kubewright.election import ElectionEvent, LeaderElector
    from kubewright.events import EventRecorder

__all__ = ["make_elector", "record_election"]

_NO_NAMESPACE = (
    "leader election needs a namespace for its Lease, and this is not a pod, which would have one: "
    "name it with --lease-namespace, KUBEWRIGHT_LEASE_NAMESPACE or Operator(lease_namespace=...)"
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
    """The elector of an operator, or None when it is to work without asking. It has not begun to stand.

    Unless the settings say, a pod stands for election and nothing else does: two replicas of a Deployment, or the old
    and the new pod of an update, must not both work, while whoever starts an operator by hand wants it to work at once.
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
    """Tell of a change of leadership as an event of the Lease, as client-go does.

    Whoever has lost the lease writes nothing at all any more; the event of the next leader tells of that, and the log.
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
