"""`Workloads`: the settings. `RunningWorkloads`: the operator and the nodes."""

from __future__ import annotations

import ipaddress
import os
import random
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Self

import kubewright as kw
from kubewright.api import core
from kubewright.client import Client
from kubewright.clock import Clock, VirtualClock
from kubewright.cluster.nodes import HEARTBEAT_SECONDS, FakeNode, Plan, PodAddresses, PodPlan, Scheduler
from kubewright.cluster.processes import ApiServer, Images, ServiceVariables
from kubewright.durations import check_duration
from kubewright.kubelet import NodeCredentials

__all__ = ["MANAGER", "RunningWorkloads", "Workloads", "controller_manager", "usual_plan"]

MANAGER: Final = "kube-controller-manager"
_CONTROLLERS: Final = {
    "deployments": "_deployments",
    "replicasets": "_replica_sets",
    "statefulsets": "_stateful_sets",
    "daemonsets": "_daemon_sets",
    "jobs": "_jobs",
    "job-pods": "_job_pods",
    "cronjobs": "_cron_jobs",
    "volumes": "_volumes",
    "endpoints": "_endpoints",
    "endpoints-mirroring": "_mirroring",
    "nodes": "_nodes",
    "disruptions": "_disruptions",
}
"""The modules of the controllers, in the order in which they start."""


def usual_plan(pod: core.Pod) -> PodPlan:
    """Returns the default plan: pods are ready immediately and run indefinitely; pods of Jobs succeed after 1 s."""
    return PodPlan() if pod.spec.restart_policy in (None, "Always") else PodPlan(exit_after=1.0)


@dataclass(frozen=True, kw_only=True)
class Workloads:
    """How the workloads of an embedded cluster behave.

    Attributes:
        plan: the behavior of pods: a `PodPlan`, or a function that returns one for a pod. Default: `usual_plan`.
        nodes: the number of nodes.
        processes: runs pods with these images as processes of this machine. Default: all pods behave as planned.
        storage: the folder of persistent volume claims of such pods. Default: a folder that is removed at the end.
        host_root: the folder that hostPath volumes of such pods are in. Default: they are refused.
        heartbeat: the seconds after which each node renews its lease. None: never, which saves most of the work of a
            cluster at rest.
        controllers: the controllers that run, for a cluster that starts and runs in less time: `{"deployments",
            "replicasets"}`. A Deployment needs both of these, a CronJob `jobs` and `job-pods`. Default: all. With an
            empty set, there are only nodes and pods.
        pod_range: the range of the addresses of pods that behave as planned.
        events: whether controllers and nodes write events, which are a fifth of their requests.
    """

    plan: Plan = usual_plan
    nodes: int = 1
    processes: Images | None = None
    storage: str | os.PathLike[str] | None = None
    host_root: str | os.PathLike[str] | None = None
    heartbeat: float | None = HEARTBEAT_SECONDS
    controllers: Collection[str] | None = None
    pod_range: str = "10.244.0.0/16"
    events: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.plan, PodPlan) and not callable(self.plan):
            raise TypeError(f"plan must be a PodPlan, or a function that returns one for a pod, not {self.plan!r}")
        nodes: object = self.nodes
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 0:
            raise ValueError(f"nodes must be a number of at least 0, not {nodes!r}")
        processes: object = self.processes
        if processes is not None and not isinstance(processes, Images):
            raise TypeError(f"processes must be Images(...), not {processes!r}")
        unknown = sorted(set(self.controllers or ()) - _CONTROLLERS.keys())
        if unknown:
            raise ValueError(f"unknown controllers {', '.join(unknown)}; use some of {', '.join(sorted(_CONTROLLERS))}")
        ipaddress.IPv4Network(self.pod_range)
        if self.heartbeat is not None:
            check_duration("heartbeat", self.heartbeat, zero=False)


def controller_manager(
    clock: Clock | None = None, rng: random.Random | None = None, controllers: Collection[str] | None = None
) -> kw.Operator:
    """Returns the controllers as an operator that runs on any cluster without a kube-controller-manager.

    `controllers` names some of them, as in `Workloads`. Default: all.
    """
    operator = kw.Operator(MANAGER, clock=clock, rng=rng, leader_elect=False, event_version="v1")
    operator.has_roles = False
    for name, module in _CONTROLLERS.items():
        if controllers is None or name in controllers:
            import_module(f"kubewright.cluster.workloads.{module}").register(operator)
    return operator


def process_nodes(
    settings: Workloads,
    client: Client,
    names: Sequence[str],
    *,
    clock: Clock,
    credentials: Callable[[str], NodeCredentials],
    api_server: Callable[[], ApiServer | None],
    services: ServiceVariables,
) -> list[FakeNode]:
    """Returns nodes that run pods. They share the folder of claims."""
    from kubewright.cluster.processes import ProcessNode

    assert settings.processes is not None
    return [
        ProcessNode(
            client,
            settings.processes,
            name=name,
            plan=settings.plan,
            schedules=False,
            clock=clock,
            credentials=credentials(name),
            api_server=api_server,
            services=services,
            storage=settings.storage,
            host_root=settings.host_root,
        )
        for name in names
    ]


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
        credentials: Callable[[str], NodeCredentials],
        api_server: Callable[[], ApiServer | None],
        services: ServiceVariables,
    ) -> None:
        if settings.processes is not None and isinstance(clock, VirtualClock):
            raise ValueError("Workloads(processes=...) needs real time: processes do not follow a VirtualClock")
        self._operator = controller_manager(clock, rng, settings.controllers)
        self._client = client
        self._stack = AsyncExitStack()
        self.nodes: list[FakeNode]
        names = [f"node-{number}" for number in range(1, settings.nodes + 1)]
        if settings.processes is not None:
            self.nodes = process_nodes(
                settings,
                client,
                names,
                clock=clock,
                credentials=credentials,
                api_server=api_server,
                services=services,
            )
        else:
            addresses = PodAddresses(ipaddress.IPv4Network(settings.pod_range))
            self.nodes = [
                FakeNode(
                    client,
                    name=name,
                    plan=settings.plan,
                    schedules=False,
                    clock=clock,
                    addresses=addresses,
                    lease_is_watched=leases_are_watched,
                    heartbeat=settings.heartbeat,
                )
                for name in names
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
            if self._operator.registrations():
                running = self._operator.running(self._client, install_crds=False)
                running.killable = False
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
