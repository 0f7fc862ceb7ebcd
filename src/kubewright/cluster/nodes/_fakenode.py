"""A node without a machine: pods are scheduled onto it and become what their plan says."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Self, TypeVar

from kubewright.api import MicroTime, Quantity, core, format_micro_time, format_time
from kubewright.api.coordination import Lease, LeaseSpec
from kubewright.api.meta import ObjectMeta
from kubewright.client import (
    AlreadyExists,
    ApiError,
    Client,
    Conflict,
    Gone,
    MergePatch,
    NotFound,
    StrategicPatch,
    Timeout,
    TooManyRequests,
    Unavailable,
)
from kubewright.clock import Clock, SystemClock
from kubewright.cluster._builtin import server_version
from kubewright.cluster.nodes import _pod_status as pod_status
from kubewright.cluster.nodes._plan import Plan, PodPlan, backoff
from kubewright.cluster.nodes._pod_events import PodEvents, unschedulable_message

__all__ = ["FakeNode"]

_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)

_LEASES = "kube-node-lease"
_HEARTBEAT_SECONDS = 10.0
_RETRY_SECONDS = 0.2
_SCHEDULING_SECONDS = 300.0
_PROBE_SECONDS = 10
_NODE_INFO = {
    "architecture": "amd64",
    "bootID": "fake",
    "containerRuntimeVersion": "fake://1",
    "kernelVersion": "fake",
    "kubeProxyVersion": "",
    "machineID": "fake",
    "operatingSystem": "linux",
    "osImage": "fake",
    "systemUUID": "fake",
}
_TERMINAL = ("Succeeded", "Failed")
_addresses = itertools.count(1)


class FakeNode:
    """The scheduler and one kubelet, as far as the API shows them. Use it with `async with`.

    Pods that wait for a scheduler are bound to this node, whatever they request, select or tolerate (a pod that names
    another node is left alone); pods on this node get the status that `plan` says; deleted pods go away after their
    grace. `plan` may be a function of the pod. `namespace` restricts all that to one namespace, and `takes` says which
    of the pods that any node could have this one takes: all of them unless given. The Node object and its lease exist,
    and are renewed, while the block runs. What a scheduler and a kubelet would tell of all that is in events.

    It lives on the event loop of the test and uses `client`. It survives restarts of the API server. An error that it
    cannot handle is raised at the end of the block.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str = "fake-node",
        namespace: str | None = None,
        plan: Plan | None = None,
        takes: Callable[[core.Pod], bool] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self._takes = takes
        self.plan: Plan = plan or PodPlan()
        self._client = client
        self._namespace = namespace
        self._clock = clock or SystemClock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pods: dict[str, _Known] = {}
        self._errors: list[BaseException] = []
        self._events = PodEvents(client, name, self._clock)

    async def __aenter__(self) -> Self:
        await self._register()
        self._events.start()
        self._spawn(self._follow_pods())
        self._spawn(self._renew_lease())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._pods.clear()
        await self._events.close()
        for removal in (
            self._client.delete(core.Node, self.name),
            self._client.delete(Lease, self.name, _LEASES),
        ):
            with contextlib.suppress(NotFound, Unavailable):
                await removal
        if self._errors:
            raise self._errors[0]

    # By hand

    async def restart(self, pod: str, namespace: str, *, exit_code: int = 1) -> None:
        """Let every container of the pod end and start again, once; the pod is not ready in between."""
        found = await self._client.get(core.Pod, pod, namespace)
        await self._restart(found, self._plan_of(found), exit_code)

    async def fail(self, pod: str, namespace: str, *, reason: str = "Evicted", message: str = "") -> None:
        """Let the pod fail as a whole, as when a kubelet evicts it."""
        found = await self._client.get(core.Pod, pod, namespace)
        self._forget(found)
        self._events.failed(found, reason, message)
        await self._write(found, pod_status.failed(found, now=self._clock.now(), reason=reason, message=message))

    async def set_ready(self, pod: str, namespace: str, ready: bool) -> None:
        """Let the running pod's readiness probe succeed or fail from now on."""
        found = await self._client.get(core.Pod, pod, namespace)
        await self._write_running(found, pod_status.restart_counts(found), ready=ready)

    # The node itself

    async def _register(self) -> None:
        now = self._clock.now()
        resources = {"cpu": Quantity("64"), "memory": Quantity("256Gi"), "pods": Quantity("10000")}
        labels = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}
        addresses = [
            {"type": "InternalIP", "address": pod_status.NODE_ADDRESS},
            {"type": "Hostname", "address": self.name},
        ]
        with contextlib.suppress(AlreadyExists):
            await self._client.create(core.Node(metadata=ObjectMeta(name=self.name, labels=labels)))
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        times = {"lastHeartbeatTime": format_time(now), "lastTransitionTime": format_time(now)}
        amounts = {resource: str(amount) for resource, amount in resources.items()}
        status = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [ready | times],
            "addresses": addresses,
            "nodeInfo": _NODE_INFO | {"kubeletVersion": server_version()["gitVersion"]},
        }
        await self._client.patch(core.Node, self.name, StrategicPatch({"status": status}), subresource="status")
        spec = LeaseSpec(holder_identity=self.name, lease_duration_seconds=40, renew_time=MicroTime.of(now))
        with contextlib.suppress(AlreadyExists):
            await self._client.create(Lease(metadata=ObjectMeta(name=self.name, namespace=_LEASES), spec=spec))

    async def _renew_lease(self) -> None:
        while True:
            await self._clock.sleep(_HEARTBEAT_SECONDS)
            await self._insist(self._renew_lease_once)

    async def _renew_lease_once(self) -> None:
        renewal = MergePatch({"spec": {"renewTime": format_micro_time(self._clock.now())}})
        await self._client.patch(Lease, self.name, renewal, _LEASES)

    # Pods, as they come and go

    async def _follow_pods(self) -> None:
        while True:
            try:
                listed = await self._client.list(core.Pod, self._namespace)
                present = {pod.metadata.uid for pod in listed}
                for uid in [uid for uid in self._pods if uid not in present]:
                    self._pods.pop(uid).cancel()
                for pod in listed:
                    self._notice(pod)
                changes = self._client.watch(core.Pod, self._namespace, resource_version=listed.resource_version)
                async for event in changes:
                    if event.type == "DELETED":
                        self._forget(event.object)
                    else:
                        self._notice(event.object)
            except (Gone, Timeout, TooManyRequests, Unavailable):
                await self._clock.sleep(_RETRY_SECONDS)

    def _notice(self, pod: core.Pod) -> None:
        """Begin what this state of the pod asks for, unless it is under way."""
        stage = self._stage_of(pod)
        known = self._pods.setdefault(pod.metadata.uid, _Known())
        if stage == known.stage or stage is None:
            if stage == "run" and (status := pod_status.gates_changed(pod, now=self._clock.now())):
                self._spawn(self._write(pod, status))
            return
        known.cancel()
        if known.stage == "schedule":  # the watch may be quicker than the answer to the binding
            self._events.scheduled(pod)
        work = {"schedule": self._schedule, "run": self._run, "end": self._end}[stage]
        known.stage, known.task = stage, self._spawn(work(pod, self._plan_of(pod)))

    def _stage_of(self, pod: core.Pod) -> str | None:
        if pod.spec.node_name == self.name:
            if pod.metadata.deletion_timestamp is not None:
                return "end"
            return "run" if pod.status.phase not in _TERMINAL else None
        if pod.spec.node_name or pod.metadata.deletion_timestamp is not None or pod.spec.scheduling_gates:
            return None
        by_default_scheduler = pod.spec.scheduler_name in (None, "default-scheduler")
        return "schedule" if by_default_scheduler and self._may_host(pod) else None

    def _may_host(self, pod: core.Pod) -> bool:
        """False for a pod that is meant for another node by name, as those of a DaemonSet are."""
        node_affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        required = node_affinity.required_during_scheduling_ignored_during_execution if node_affinity else None
        names = [
            field.values or []
            for term in (required.node_selector_terms if required is not None else ())
            for field in term.match_fields or []
            if field.key == "metadata.name" and field.operator == "In"
        ]
        if names:
            return any(self.name in values for values in names)
        return self._takes is None or self._takes(pod)

    def _forget(self, pod: core.Pod) -> None:
        known = self._pods.pop(pod.metadata.uid, None)
        if known is not None:
            known.cancel()

    def _plan_of(self, pod: core.Pod) -> PodPlan:
        return self.plan if isinstance(self.plan, PodPlan) else self.plan(pod)

    # The stages of a pod's life

    async def _schedule(self, pod: core.Pod, plan: PodPlan) -> None:
        await self._clock.sleep(plan.schedule_delay)
        while plan.unschedulable:
            await self._tell_unschedulable(pod, plan.unschedulable)
            await self._clock.sleep(_SCHEDULING_SECONDS)
            plan = self._plan_of(pod)
        metadata = pod.metadata
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            # With its uid, so that a new pod of the same name is not meant.
            "metadata": {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self.name},
        }
        path = f"/api/v1/namespaces/{metadata.namespace}/pods/{metadata.name}/binding"
        await self._insist(lambda: self._client.request("POST", path, body=binding))

    async def _tell_unschedulable(self, pod: core.Pod, why: str) -> None:
        nodes = await self._insist(lambda: self._client.list(core.Node))
        message = unschedulable_message(len(nodes) if nodes is not None else 1, why)
        self._events.failed_scheduling(pod, message)
        await self._write(pod, pod_status.unschedulable(pod, now=self._clock.now(), message=message))

    async def _run(self, pod: core.Pod, plan: PodPlan) -> None:
        restarts = pod_status.restart_counts(pod)
        if pod.status.phase != "Running":
            if plan.image_missing:
                await self._clock.sleep(plan.start_delay)
                await self._try_to_pull(pod)
            self._events.pulling(pod, init=True)
            await self._clock.sleep(plan.start_delay)
            self._events.started(pod, plan.start_delay, init=True)
            await self._start(pod, plan, restarts)
        exits = itertools.count(1)
        while plan.exit_after is not None and (plan.exits is None or next(exits) <= plan.exits):
            await self._clock.sleep(plan.exit_after)
            if not _restarts(pod, plan.exit_code):
                now = self._clock.now()
                await self._write(pod, pod_status.finished(pod, restarts, now=now, exit_code=plan.exit_code))
                return
            restarts = await self._restart(pod, plan, plan.exit_code, restarts)

    async def _try_to_pull(self, pod: core.Pod) -> None:
        """Again and again, for as long as the pod is there."""
        for attempt in itertools.count(1):
            self._events.image_missing(pod)
            if attempt == 1:
                await self._write(pod, pod_status.image_missing(pod, now=self._clock.now()))
            await self._clock.sleep(backoff(attempt))

    async def _start(self, pod: core.Pod, plan: PodPlan, restarts: dict[str, int]) -> None:
        if plan.ready_delay > 0 or not plan.becomes_ready:
            await self._write_running(pod, restarts, ready=False)
            await self._clock.sleep(plan.ready_delay)
        if plan.becomes_ready:
            await self._write_running(pod, restarts, ready=True)

    async def _probe(self, pod: core.Pod) -> None:
        """Let the readiness probes of a pod that is not ready fail, each whenever it is due."""
        due = [
            (probe.initial_delay_seconds or 0, number)
            for number, container in enumerate(pod.spec.containers)
            if (probe := container.readiness_probe) is not None
        ]
        passed = 0
        while due:
            at, number = min(due)
            await self._clock.sleep(at - passed)
            passed, container = at, pod.spec.containers[number]
            self._events.unhealthy(pod, container)
            period = container.readiness_probe.period_seconds if container.readiness_probe is not None else None
            due[due.index((at, number))] = (at + (period or _PROBE_SECONDS), number)

    async def _restart(
        self, pod: core.Pod, plan: PodPlan, exit_code: int, restarts: dict[str, int] | None = None
    ) -> dict[str, int]:
        counted = restarts if restarts is not None else pod_status.restart_counts(pod)
        counted = {container.name: counted.get(container.name, 0) + 1 for container in pod.spec.containers}
        now = self._clock.now()
        await self._write(pod, pod_status.waiting_to_restart(pod, counted, now=now, exit_code=exit_code))
        delay = plan.delay_before(max(counted.values(), default=1))
        if delay and exit_code:
            self._events.backing_off(pod)
        await self._clock.sleep(delay)
        self._events.pulling(pod, init=False)
        self._events.started(pod, 0.0, init=False)
        await self._start(pod, plan, counted)
        return counted

    async def _end(self, pod: core.Pod, plan: PodPlan) -> None:
        self._events.killing(pod)
        grace = pod.metadata.deletion_grace_period_seconds or 0
        await self._clock.sleep(min(plan.stop_delay, grace))
        ended = pod_status.finished(pod, pod_status.restart_counts(pod), now=self._clock.now(), exit_code=0)
        await self._write(pod, ended)
        name, namespace, uid = pod.metadata.name, pod.metadata.namespace, pod.metadata.uid
        await self._insist(lambda: self._client.delete(core.Pod, name, namespace, grace_period_seconds=0, uid=uid))

    # Writing

    async def _write_running(self, pod: core.Pod, restarts: dict[str, int], *, ready: bool) -> None:
        address, known = pod.status.pod_ip, self._pods.setdefault(pod.metadata.uid, _Known())
        if address is None:
            known.address = address = known.address or pod_status.pod_address(next(_addresses))
        status = pod_status.running(pod, restarts, now=self._clock.now(), ready=ready, address=address)
        await self._write(pod, status)
        if not ready:
            known.probing = self._spawn(self._probe(pod))

    async def _write(self, pod: core.Pod, status: pod_status.Status) -> None:
        if (known := self._pods.get(pod.metadata.uid)) is not None and "containerStatuses" in status:
            known.stop_probing()
        patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid}, "status": status})
        name, namespace = pod.metadata.name, pod.metadata.namespace
        written = await self._insist(lambda: self._client.patch(core.Pod, name, patch, namespace, subresource="status"))
        if written is not None:
            # Later writes of the same stage build on this one, for instance on its transition times.
            pod.status = written.status

    async def _insist(self, call: Callable[[], Awaitable[_Result]]) -> _Result | None:
        """Try until the server has decided. None when the object is gone, or is another one by now."""
        while True:
            try:
                return await call()
            except (NotFound, Conflict):
                return None
            except (Timeout, TooManyRequests, Unavailable):
                await self._clock.sleep(_RETRY_SECONDS)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        # A namespace that is going away takes no more changes; whose it was does not care about its pods.
        if isinstance(error, ApiError) and "being terminated" in str(error):
            return
        _log.error("the fake node %s failed", self.name, exc_info=error)
        self._errors.append(error)


class _Known:
    """What the node does about one pod."""

    def __init__(self) -> None:
        self.stage: str | None = None
        self.task: asyncio.Task[None] | None = None
        self.probing: asyncio.Task[None] | None = None
        self.address: str | None = None

    def stop_probing(self) -> None:
        if self.probing is not None:
            self.probing.cancel()
            self.probing = None

    def cancel(self) -> None:
        self.stop_probing()
        if self.task is not None:
            self.task.cancel()
            self.task = None


def _restarts(pod: core.Pod, exit_code: int) -> bool:
    policy = pod.spec.restart_policy or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)
