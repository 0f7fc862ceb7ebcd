"""`Scheduler`: puts pods that wait on nodes, or tells why it cannot."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, Self

from kubewright.api import core
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock
from kubewright.cluster.nodes import _pod_status as pod_status
from kubewright.cluster.nodes._chores import Chores
from kubewright.cluster.nodes._fitting import obstacle
from kubewright.cluster.nodes._following import follow
from kubewright.cluster.nodes._plan import PodPlan
from kubewright.cluster.nodes._pod_events import SchedulerEvents, unschedulable_message
from kubewright.cluster.nodes._writing import write_status

__all__ = ["Host", "Scheduler"]

_NAMES = (None, "default-scheduler")
_LOOK_AGAIN_SECONDS = 300.0


class Host(Protocol):
    """A node that pods can be put on."""

    @property
    def name(self) -> str:
        """Its name."""

    def plan_of(self, pod: core.Pod) -> PodPlan:
        """What becomes of the pod there."""


class Scheduler:
    """The scheduler, for some nodes. Use it with `async with`, once the nodes are there.

    A pod goes to one of them that will do for it (`_fitting`): to which one, its uid decides. While none does it waits,
    until a node changes, or the pod; with the condition and the event that tell why, if no other node does, either.
    """

    def __init__(
        self, client: Client, hosts: Sequence[Host], *, namespace: str | None = None, clock: Clock | None = None
    ) -> None:
        self._client = client
        self._hosts = hosts
        self._namespace = namespace
        self._clock = clock or SystemClock()
        self._chores = Chores("the scheduler", self._clock)
        self._events = SchedulerEvents(client, [host.name for host in hosts], self._clock)
        self._nodes: dict[str, core.Node] = {}
        self._waiting: dict[str, _Waiting] = {}

    async def __aenter__(self) -> Self:
        self._events.start()
        for node in await self._client.list(core.Node):  # before the first pod: none known means that there is none
            self._node_seen(node)
        self._chores.begin(
            follow(self._client, core.Node, None, self._clock, seen=self._node_seen, gone=self._node_gone)
        )
        self._chores.begin(
            follow(self._client, core.Pod, self._namespace, self._clock, seen=self._pod_seen, gone=self._pod_gone)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._chores.end()
        await self._events.close()
        self._chores.check()

    # What happens

    def _node_seen(self, node: core.Node) -> None:
        before = self._nodes.get(node.metadata.uid)
        self._nodes[node.metadata.uid] = node
        if before is None or _placing(before) != _placing(node):
            for waiting in self._waiting.values():
                waiting.changed.set()

    def _node_gone(self, uid: str) -> None:
        self._nodes.pop(uid, None)

    def _pod_seen(self, pod: core.Pod) -> None:
        waiting = self._waiting.get(pod.metadata.uid)
        if not _waits(pod):
            if waiting is not None and pod.spec.node_name:  # the watch may be quicker than the answer to the binding
                self._events.scheduled(pod, pod.spec.node_name)
            self._pod_gone(pod.metadata.uid)
        elif waiting is None:
            waiting = self._waiting[pod.metadata.uid] = _Waiting(pod)
            waiting.task = self._chores.begin(self._schedule(waiting))
        else:
            if waiting.pod.spec != pod.spec:
                waiting.changed.set()
            waiting.pod = pod

    def _pod_gone(self, uid: str) -> None:
        waiting = self._waiting.pop(uid, None)
        if waiting is not None and waiting.task is not None:
            waiting.task.cancel()

    # What is done about it

    async def _schedule(self, waiting: _Waiting) -> None:
        await self._clock.sleep(self._plan_of(waiting.pod).schedule_delay)
        while True:
            waiting.changed.clear()
            obstacles = self._obstacles(waiting.pod)
            fitting = [name for name, why in obstacles.items() if why is None]
            hosts = [host for host in self._hosts if host.name in fitting]
            if hosts:
                return await self._bind(waiting.pod, _one_of(hosts, waiting.pod))
            if not fitting:
                await self._tell(waiting.pod, Counter(why for why in obstacles.values() if why is not None))
            again = self._clock.call_later(_LOOK_AGAIN_SECONDS, waiting.changed.set)
            await waiting.changed.wait()
            again.cancel()

    def _obstacles(self, pod: core.Pod) -> dict[str, str | None]:
        """For each node, why the pod cannot be put on it; None where it can."""
        planned = self._plan_of(pod).unschedulable
        return {node.metadata.name: planned or obstacle(pod.spec, node) for node in self._nodes.values()}

    def _plan_of(self, pod: core.Pod) -> PodPlan:
        return _one_of(self._hosts, pod).plan_of(pod)

    async def _bind(self, pod: core.Pod, host: Host) -> None:
        metadata = pod.metadata
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            # With its uid, so that a new pod of the same name is not meant.
            "metadata": {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": host.name},
        }
        path = f"/api/v1/namespaces/{metadata.namespace}/pods/{metadata.name}/binding"
        await self._chores.insist(lambda: self._client.request("POST", path, body=binding))

    async def _tell(self, pod: core.Pod, reasons: Counter[str]) -> None:
        message = unschedulable_message(reasons, for_want_of_room=bool(self._plan_of(pod).unschedulable))
        self._events.failed_scheduling(pod, message)
        status = pod_status.unschedulable(pod, now=self._clock.now(), message=message)
        await self._chores.insist(lambda: write_status(self._client, pod, status))


class _Waiting:
    """A pod that waits for a node."""

    def __init__(self, pod: core.Pod) -> None:
        self.pod = pod
        self.changed = asyncio.Event()
        """Set when it may be worth looking again."""
        self.task: asyncio.Task[None] | None = None


def _waits(pod: core.Pod) -> bool:
    spec = pod.spec
    if spec.node_name or spec.scheduling_gates or pod.metadata.deletion_timestamp is not None:
        return False
    return spec.scheduler_name in _NAMES


def _placing(node: core.Node) -> object:
    """What of a node decides which pods it will do for."""
    return node.spec.unschedulable, node.spec.taints, node.metadata.labels


def _one_of(hosts: Sequence[Host], pod: core.Pod) -> Host:
    return hosts[int(pod.metadata.uid[:8], 16) % len(hosts)]
