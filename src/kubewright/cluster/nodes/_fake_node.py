"""`FakeNode`: a simulated node that runs pods as their plan describes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Final, Self

from kubewright.api import MicroTime, Quantity, core, format_micro_time, format_time
from kubewright.api.coordination import Lease, LeaseSpec
from kubewright.api.meta import ObjectMeta
from kubewright.client import AlreadyExists, Client, MergePatch, NotFound, StrategicPatch, Unavailable
from kubewright.clock import Clock, SystemClock
from kubewright.cluster.nodes import _pod_status as pod_status
from kubewright.cluster.nodes._addresses import PodAddresses
from kubewright.cluster.nodes._following import follow
from kubewright.cluster.nodes._plan import Plan, PodPlan, backoff
from kubewright.cluster.nodes._pod_events import KubeletEvents
from kubewright.cluster.nodes._runner import PodRunner
from kubewright.cluster.nodes._scheduler import Scheduler
from kubewright.cluster.nodes._status_writing import write_status
from kubewright.cluster.nodes._tasks import BackgroundTasks
from kubewright.cluster.registry._builtin_resources import server_version

__all__ = ["HEARTBEAT_SECONDS", "FakeNode"]

_LEASES = "kube-node-lease"
HEARTBEAT_SECONDS: Final = 10.0
_LEASE_SECONDS: Final = 40
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
_NOT_READY = "node.kubernetes.io/not-ready"
_TERMINAL = ("Succeeded", "Failed")


class FakeNode:
    """A simulated kubelet with its own scheduler. Use it with `async with`.

    Pending pods are bound to this node if it suits them: it is not cordoned, they tolerate its taints, and their
    selectors match it. Resource requests are ignored. Pods on this node get the status that `plan` describes; deleted
    pods end within their grace period. `plan` may be a function of the pod. `namespace` restricts the node to one
    namespace. The Node object and its lease exist, and the lease is renewed, while the block runs. The events of a real
    scheduler and kubelet are recorded.

    It runs on the event loop of the test, uses `client`, and survives restarts of the API server. An unexpected error
    is raised at the end of the block. With `schedules=False`, another scheduler binds pods to it. Nodes of one cluster
    share `addresses`. If `lease_is_watched` returns False, a virtual clock need not stop for renewals of the lease.
    Pods that `runner` takes are not simulated.
    Without a `heartbeat`, the lease is not renewed.

    After a pause that is longer than the lease (a blocked event loop, a suspended machine, an absent API server), the
    node reports that it is ready again. kube-controller-manager has marked it as unreachable by then.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str = "fake-node",
        namespace: str | None = None,
        plan: Plan | None = None,
        schedules: bool = True,
        clock: Clock | None = None,
        addresses: PodAddresses | None = None,
        lease_is_watched: Callable[[], bool] = lambda: True,
        runner: PodRunner | None = None,
        heartbeat: float | None = HEARTBEAT_SECONDS,
    ) -> None:
        self.name = name
        self.plan: Plan = plan or PodPlan()
        self._client = client
        self._namespace = namespace
        self._schedules = schedules
        self._addresses = addresses or PodAddresses.of_node(name)
        self._lease_is_watched = lease_is_watched
        self._runner = runner
        self._heartbeat = heartbeat
        self._clock = clock or SystemClock()
        self._tasks = BackgroundTasks(f"the fake node {name}", self._clock)
        self._pods: dict[str, _PodState] = {}
        self._events = KubeletEvents(client, name, self._clock)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._register()
        self._events.start()
        self._tasks.start(
            follow(self._client, core.Pod, self._namespace, self._clock, seen=self._notice, gone=self._forget)
        )
        if self._heartbeat is not None:
            self._tasks.start(self._renew_lease(self._heartbeat))
        if self._schedules:
            scheduler = Scheduler(self._client, [self], namespace=self._namespace, clock=self._clock)
            await self._stack.enter_async_context(scheduler)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._stack.aclose()
        finally:
            await self._leave()
        self._tasks.check()

    async def _leave(self) -> None:
        await self._tasks.end()
        self._pods.clear()
        await self._events.close()
        for removal in (
            self._client.delete(core.Node, self.name),
            self._client.delete(Lease, self.name, _LEASES),
        ):
            with contextlib.suppress(NotFound, Unavailable):
                await removal

    # Manual control

    async def restart(self, pod: str, namespace: str, *, exit_code: int = 1) -> None:
        """Restarts every container of the pod once; the pod is not ready in between."""
        found = await self._client.get(core.Pod, pod, namespace)
        await self._restart(found, self.plan_of(found), exit_code)

    async def fail(self, pod: str, namespace: str, *, reason: str = "Evicted", message: str = "") -> None:
        """Fails the whole pod, like an eviction by the kubelet."""
        found = await self._client.get(core.Pod, pod, namespace)
        self._forget(found.metadata.uid)
        self._events.failed(found, reason, message)
        await self._write(found, pod_status.failed(found, now=self._clock.now(), reason=reason, message=message))

    async def set_ready(self, pod: str, namespace: str, ready: bool) -> None:
        """Makes the readiness probe of the running pod succeed or fail from now on."""
        found = await self._client.get(core.Pod, pod, namespace)
        await self._write_running(found, pod_status.restart_counts(found), ready=ready)

    # The node

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
        amounts = {resource: str(amount) for resource, amount in resources.items()}
        status: dict[str, Any] = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [self._ready_condition()],
            "addresses": addresses,
            "nodeInfo": _NODE_INFO | {"kubeletVersion": server_version()["gitVersion"]},
        }
        if self._runner is not None:
            special = self._runner.node_status()
            status |= {**special, "nodeInfo": {**status["nodeInfo"], **special.get("nodeInfo", {})}}
        await self._client.patch(core.Node, self.name, StrategicPatch({"status": status}), subresource="status")
        await self._tasks.retry(self._remove_not_ready_taint)
        spec = LeaseSpec(holder_identity=self.name, lease_duration_seconds=_LEASE_SECONDS, renew_time=MicroTime.of(now))
        with contextlib.suppress(AlreadyExists):
            await self._client.create(Lease(metadata=ObjectMeta(name=self.name, namespace=_LEASES), spec=spec))

    def _ready_condition(self) -> dict[str, str]:
        now = format_time(self._clock.now())
        times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
        return {"type": "Ready", "status": "True", "reason": "KubeletReady"} | times

    async def _remove_not_ready_taint(self) -> None:
        """Removes the taint of new nodes, which kube-controller-manager removes when the node is ready."""
        node = await self._client.get(core.Node, self.name)
        kept = [taint for taint in node.spec.taints or () if taint.key != _NOT_READY]
        if len(kept) < len(node.spec.taints or ()):
            node.spec.taints = kept or None
            await self._client.update(node)

    async def _renew_lease(self, seconds: float) -> None:
        renewed_at, lapsed_at = self._clock.now().timestamp(), float("-inf")
        while True:
            # If no client watches the lease, a renewal is only visible when something else happens: defer it until
            # then.
            watched = self._lease_is_watched()
            await self._clock.sleep(seconds, deferrable=not watched)
            await self._tasks.retry(self._renew_lease_once)
            now = self._clock.now().timestamp()
            if now - renewed_at > _LEASE_SECONDS:
                lapsed_at = now
            renewed_at = now
            # More than once: the controller that marks the node may have read the lease before this renewal.
            if watched and now - lapsed_at <= _LEASE_SECONDS:
                await self._tasks.retry(self._restore_ready)

    async def _renew_lease_once(self) -> None:
        renewal = MergePatch({"spec": {"renewTime": format_micro_time(self._clock.now())}})
        await self._client.patch(Lease, self.name, renewal, _LEASES)

    async def _restore_ready(self) -> None:
        """Reports that the node is ready, if a controller has marked it as unreachable."""
        node = await self._client.get(core.Node, self.name)
        if any(each.type == "Ready" and each.status != "True" for each in node.status.conditions or ()):
            patch = StrategicPatch({"status": {"conditions": [self._ready_condition()]}})
            await self._client.patch(core.Node, self.name, patch, subresource="status")

    # Pods

    def _notice(self, pod: core.Pod) -> None:
        """Starts the work that this state of the pod requires, unless it is running."""
        if self._runner is not None and pod.spec.node_name == self.name and self._runner.notice(pod):
            return
        stage = self._stage_of(pod)
        known = self._pods.setdefault(pod.metadata.uid, _PodState())
        if stage is not None and known.address is None and pod.status.pod_ip:
            known.address = pod.status.pod_ip
            self._addresses.mark_used(known.address)
        if stage == known.stage or stage is None:
            if stage == "run" and (status := pod_status.gates_changed(pod, now=self._clock.now())):
                self._tasks.start(self._write(pod, status))
            return
        known.cancel()
        work = {"run": self._run, "end": self._end}[stage]
        known.stage, known.task = stage, self._tasks.start(work(pod, self.plan_of(pod)))

    def _stage_of(self, pod: core.Pod) -> str | None:
        if pod.spec.node_name != self.name:
            return None
        if pod.metadata.deletion_timestamp is not None:
            return "end"
        return "run" if pod.status.phase not in _TERMINAL else None

    def _forget(self, uid: str) -> None:
        if self._runner is not None:
            self._runner.forget(uid)
        known = self._pods.pop(uid, None)
        if known is None:
            return
        known.cancel()
        if known.address is not None:
            self._addresses.release(known.address)

    def plan_of(self, pod: core.Pod) -> PodPlan:
        """Returns the plan of the pod."""
        if isinstance(self.plan, PodPlan):
            return self.plan
        made: object = self.plan(pod)
        if not isinstance(made, PodPlan):
            where = f"{pod.metadata.namespace}/{pod.metadata.name}"
            raise TypeError(f"the plan function must return a PodPlan; it returned {made!r} for {where}")
        return made

    # Lifecycle of a pod

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
        """Retries to pull the image while the pod exists."""
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
        """Fails the readiness probes of an unready pod, each in its period."""
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
        await self._tasks.retry(lambda: self._client.delete(core.Pod, name, namespace, grace_period_seconds=0, uid=uid))

    # Writing

    async def _write_running(self, pod: core.Pod, restarts: dict[str, int], *, ready: bool) -> None:
        address, known = pod.status.pod_ip, self._pods.setdefault(pod.metadata.uid, _PodState())
        if address is None:
            known.address = address = known.address or self._addresses.allocate()
        status = pod_status.running(pod, restarts, now=self._clock.now(), ready=ready, address=address)
        await self._write(pod, status)
        if not ready:
            known.probing = self._tasks.start(self._probe(pod))

    async def _write(self, pod: core.Pod, status: pod_status.Status) -> None:
        if (known := self._pods.get(pod.metadata.uid)) is not None and "containerStatuses" in status:
            known.stop_probing()
        written = await self._tasks.retry(lambda: write_status(self._client, pod, status))
        if written is not None:
            # Later writes of the same stage build on this one, for example on its transition times.
            pod.status = written.status


class _PodState:
    """The state of one pod on this node."""

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
