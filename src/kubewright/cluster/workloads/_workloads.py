"""`Workloads`: the settings. `RunningWorkloads`: the operator and the nodes."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Self

import kubewright as kw
from kubewright.api import core
from kubewright.client import Client
from kubewright.clock import Clock
from kubewright.cluster.nodes import FakeNode, Plan, PodAddresses, PodPlan, Scheduler

__all__ = ["MANAGER", "RunningWorkloads", "Workloads", "controller_manager", "usual_plan"]

MANAGER: Final = "kube-controller-manager"


def usual_plan(pod: core.Pod) -> PodPlan:
    """Returns the default plan: pods are ready immediately and run indefinitely; pods of Jobs succeed after 1 s."""
    return PodPlan() if pod.spec.restart_policy in (None, "Always") else PodPlan(exit_after=1.0)


@dataclass(frozen=True, kw_only=True)
class Workloads:
    """How the workloads of an embedded cluster behave.

    Attributes:
        plan: the behavior of pods: a `PodPlan`, or a function that returns one for a pod. Default: `usual_plan`.
        nodes: the number of nodes.
    """

    plan: Plan = usual_plan
    nodes: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.plan, PodPlan) and not callable(self.plan):
            raise TypeError(f"plan must be a PodPlan, or a function that returns one for a pod, not {self.plan!r}")
        nodes: object = self.nodes
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 0:
            raise ValueError(f"nodes must be a number of at least 0, not {nodes!r}")


def controller_manager(clock: Clock | None = None, rng: random.Random | None = None) -> kw.Operator:
    """Returns the controllers as an operator that runs on any cluster without a kube-controller-manager."""
    from kubewright.cluster.workloads import (
        _cron_jobs,
        _daemon_sets,
        _deployments,
        _disruptions,
        _endpoints,
        _job_pods,
        _jobs,
        _mirroring,
        _nodes,
        _replica_sets,
        _stateful_sets,
        _volumes,
    )

    operator = kw.Operator(MANAGER, clock=clock, rng=rng, leader_elect=False, event_version="v1")
    operator.has_roles = False
    for part in (
        _deployments,
        _replica_sets,
        _stateful_sets,
        _daemon_sets,
        _jobs,
        _job_pods,
        _cron_jobs,
        _volumes,
        _endpoints,
        _mirroring,
        _nodes,
        _disruptions,
    ):
        part.register(operator)
    return operator


class RunningWorkloads:
    """The running controllers and nodes, from `start` to `stop`.

    Attributes:
        nodes: the nodes, for tests that fail or restart a pod manually.
    """

    def __init__(
        self,
        settings: Workloads,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        leases_are_watched: Callable[[], bool],
    ) -> None:
        self._operator = controller_manager(clock, rng)
        self._client = client
        self._stack = AsyncExitStack()
        addresses = PodAddresses()
        self.nodes = [
            FakeNode(
                client,
                name=f"node-{number}",
                plan=settings.plan,
                schedules=False,
                clock=clock,
                addresses=addresses,
                lease_is_watched=leases_are_watched,
            )
            for number in range(1, settings.nodes + 1)
        ]
        self._scheduler = Scheduler(client, self.nodes, clock=clock)
        self._controllers: kw.Running | None = None

    async def start(self) -> Self:
        """Starts everything. When it returns, the nodes are registered and the caches are synchronized."""
        async with AsyncExitStack() as stack:
            for node in self.nodes:
                await stack.enter_async_context(node)
            if self.nodes:
                await stack.enter_async_context(self._scheduler)
            running = self._operator.running(self._client, install_crds=False)
            self._controllers = await stack.enter_async_context(running)
            self._stack = stack.pop_all()
        return self

    async def settled(self) -> None:
        """Waits until the controllers have no pending work. The nodes work within the event loop."""
        if self._controllers is not None:
            await self._controllers.settled()

    async def stop(self) -> None:
        """Stops the controllers first, so that they do not see the nodes disappear."""
        await self._stack.aclose()
