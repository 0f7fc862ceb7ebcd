"""`Scheduler`: binds pending pods to nodes, or reports why it cannot."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, Self

from kubewright.api import core
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock
from kubewright.cluster.nodes import _pod_status as pod_status
from kubewright.cluster.nodes._following import follow
from kubewright.cluster.nodes._placement import obstacle
from kubewright.cluster.nodes._plan import PodPlan
from kubewright.cluster.nodes._pod_events import SchedulerEvents, unschedulable_message
from kubewright.cluster.nodes._status_writing import write_status
from kubewright.cluster.nodes._tasks import BackgroundTasks

__all__ = ["Host", "Scheduler"]

_NAMES = (None, "default-scheduler")
_LOOK_AGAIN_SECONDS = 300.0


class Host(Protocol):
    """A node that pods can be bound to."""

    @property
    def name(self) -> str:
        """Returns the name of the node."""

    def plan_of(self, pod: core.Pod) -> PodPlan:
        """Returns the plan of the pod on this node."""


class Scheduler:
    """A scheduler for some nodes. Use it with `async with`, after the nodes are registered.

    A pod is bound to a suitable node (`_placement`), chosen by the uid of the pod. While no node suits, the pod waits
    until a node or the pod changes. A condition and an event report the reason if no other node suits either.
    """

    def __init__(
        self, client: Client, hosts: Sequence[Host], *, namespace: str | None = None, clock: Clock | None = None
    ) -> None:
        self._client = client
        self._hosts = hosts
        self._namespace = namespace
        self._clock = clock or SystemClock()
        self._tasks = BackgroundTasks("the scheduler", self._clock)
        self._events = SchedulerEvents(client, [host.name for host in hosts], self._clock)
        self._nodes: dict[str, core.Node] = {}
        self._waiting: dict[str, _Waiting] = {}

    async def __aenter__(self) -> Self:
        self._events.start()
        for node in await self._client.list(core.Node):  # before the first pod: unknown nodes do not exist
            self._node_seen(node)
        self._tasks.start(
            follow(self._client, core.Node, None, self._clock, seen=self._node_seen, gone=self._node_gone)
        )
        self._tasks.start(
            follow(self._client, core.Pod, self._namespace, self._clock, seen=self._pod_seen, gone=self._pod_gone)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.end()
        await self._events.close()
        self._tasks.check()

    # Events

    def _node_seen(self, node: core.Node) -> None:
        before = self._nodes.get(node.metadata.uid)
        self._nodes[node.metadata.uid] = node
        if before is None or _scheduling_facts(before) != _scheduling_facts(node):
            for waiting in self._waiting.values():
                waiting.changed.set()

    def _node_gone(self, uid: str) -> None:
        self._nodes.pop(uid, None)

    def _pod_seen(self, pod: core.Pod) -> None:
        waiting = self._waiting.get(pod.metadata.uid)
        if not _waits(pod):
            if waiting is not None and pod.spec.node_name:  # the watch may be faster than the response to the binding
                self._events.scheduled(pod, pod.spec.node_name)
            self._pod_gone(pod.metadata.uid)
        elif waiting is None:
            waiting = self._waiting[pod.metadata.uid] = _Waiting(pod)
            waiting.task = self._tasks.start(self._schedule(waiting))
        else:
            if waiting.pod.spec != pod.spec:
                waiting.changed.set()
            waiting.pod = pod

    def _pod_gone(self, uid: str) -> None:
        waiting = self._waiting.pop(uid, None)
        if waiting is not None and waiting.task is not None:
            waiting.task.cancel()

    # Scheduling

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
                await self._report(waiting.pod, Counter(why for why in obstacles.values() if why is not None))
            again = self._clock.call_later(_LOOK_AGAIN_SECONDS, waiting.changed.set)
            await waiting.changed.wait()
            again.cancel()

    def _obstacles(self, pod: core.Pod) -> dict[str, str | None]:
        """Returns the obstacle on each node; None if the pod can run there."""
        planned = self._plan_of(pod).unschedulable
        return {node.metadata.name: planned or obstacle(pod.spec, node) for node in self._nodes.values()}

    def _plan_of(self, pod: core.Pod) -> PodPlan:
        return _one_of(self._hosts, pod).plan_of(pod)

    async def _bind(self, pod: core.Pod, host: Host) -> None:
        metadata = pod.metadata
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            # With its uid, so that a new pod of the same name is not bound.
            "metadata": {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": host.name},
        }
        path = f"/api/v1/namespaces/{metadata.namespace}/pods/{metadata.name}/binding"
        await self._tasks.retry(lambda: self._client.request("POST", path, body=binding))

    async def _report(self, pod: core.Pod, reasons: Counter[str]) -> None:
        message = unschedulable_message(reasons, lacks_resources=bool(self._plan_of(pod).unschedulable))
        self._events.failed_scheduling(pod, message)
        status = pod_status.unschedulable(pod, now=self._clock.now(), message=message)
        await self._tasks.retry(lambda: write_status(self._client, pod, status))


class _Waiting:
    """A pod that waits for a node."""

    def __init__(self, pod: core.Pod) -> None:
        self.pod = pod
        self.changed = asyncio.Event()
        """Set when scheduling should be retried."""
        self.task: asyncio.Task[None] | None = None


def _waits(pod: core.Pod) -> bool:
    spec = pod.spec
    if spec.node_name or spec.scheduling_gates or pod.metadata.deletion_timestamp is not None:
        return False
    return spec.scheduler_name in _NAMES


def _scheduling_facts(node: core.Node) -> object:
    """Returns the parts of a node that affect scheduling."""
    return node.spec.unschedulable, node.spec.taints, node.metadata.labels


def _one_of(hosts: Sequence[Host], pod: core.Pod) -> Host:
    return hosts[int(pod.metadata.uid[:8], 16) % len(hosts)]
