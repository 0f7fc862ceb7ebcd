"""`Workloads`: what is asked for, and `RunningWorkloads`: the operator and the nodes that do it."""

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
    """Pods are ready at once, and run for ever; but those that are meant to end do so, well, after a second."""
    return PodPlan() if pod.spec.restart_policy in (None, "Always") else PodPlan(exit_after=1.0)


@dataclass(frozen=True, kw_only=True)
class Workloads:
    """How the workloads of an embedded cluster behave.

    Attributes:
        plan: what becomes of pods: a `PodPlan`, or a function from a pod to one; as in `usual_plan` unless given.
        nodes: how many nodes there are.
    """

    plan: Plan = usual_plan
    nodes: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.plan, PodPlan) and not callable(self.plan):
            raise TypeError(f"plan is a PodPlan, or a function from a pod to one, not {self.plan!r}")
        nodes: object = self.nodes
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 0:
            raise ValueError(f"nodes is a number of nodes, not {nodes!r}")


def controller_manager(clock: Clock | None = None, rng: random.Random | None = None) -> kw.Operator:
    """The controllers, as an operator that can run on any cluster without a kube-controller-manager."""
    from kubewright.cluster.workloads import (
        _cron_jobs,
        _daemon_sets,
        _deployments,
        _disruptions,
        _endpoints,
        _job_pods,
        _jobs,
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
        _nodes,
        _disruptions,
    ):
        part.register(operator)
    return operator


class RunningWorkloads:
    """The controllers and the nodes at work, from `start` to `stop`.

    Attributes:
        nodes: the nodes, for tests that let a pod fail or restart by hand.
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
        """Begin; when it returns, the nodes are there and the controllers know what the cluster has."""
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
        """Wait until the controllers have nothing left to do. The nodes work within the event loop."""
        if self._controllers is not None:
            await self._controllers.settled()

    async def stop(self) -> None:
        """End: the controllers first, so that they do not see the nodes go."""
        await self._stack.aclose()
