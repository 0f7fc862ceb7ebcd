"""`PodWorker`: the life of one pod: volumes, init containers, sidecars, containers, status, end."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path
from typing import Final

from kubewright.api import core, format_time
from kubewright.clock import TimeLimitExceeded, within
from kubewright.cluster.nodes import write_status
from kubewright.cluster.processes._container import ContainerWorker
from kubewright.cluster.processes._context import NodeContext
from kubewright.cluster.processes._honored import not_honored
from kubewright.cluster.processes._launching import Launcher
from kubewright.cluster.processes._restarting import restarts
from kubewright.cluster.processes._state import AnyContainer, ContainerKind, ContainerState
from kubewright.cluster.processes._status import PodState, Status, phase_of, status_of
from kubewright.cluster.processes._volumes import PodVolumes, VolumeFailure
from kubewright.cluster.services import PORTS_ANNOTATION, PodPorts

__all__ = ["PodWorker"]

_GRACE: Final = 30
_MOUNT_SECONDS: Final = 2.0
_SIDECAR_GRACE: Final = 2.0
_TERMINAL: Final = ("Succeeded", "Failed")


class PodWorker:
    """Runs a pod from its first state on this node until it is deleted.

    `start` begins, `update` takes new states of the pod, `finish` ends it in order within its grace period, and `abort`
    kills it. All containers are in `workers`, by name.
    """

    def __init__(self, node: NodeContext, pod: core.Pod, folder: Path) -> None:
        self.pod = pod
        self.ending = asyncio.Event()
        self.ports: dict[int, int] = {}
        self.workers: dict[str, ContainerWorker] = {}
        self._node = node
        self._folder = folder
        address = _address_of(pod, node)
        now = node.clock.now()
        self.state = PodState(address, node.host_address, [], pod.status.start_time or now)
        for condition in pod.status.conditions or ():
            if condition.last_transition_time is not None:
                since = format_time(condition.last_transition_time)
                self.state.transitions[condition.type] = (condition.status, since)
        self._volumes = PodVolumes(
            pod, folder / "volumes", node.client, node.sources, node.volumes, node.clock, address
        )
        self._launcher = Launcher(node, folder, self._volumes, address, self.ports)
        self._dirty = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._main: asyncio.Task[None] | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._containers: dict[str, asyncio.Task[None]] = {}
        self._change: asyncio.Future[None] | None = None
        self._written: Status | None = None
        self._is_lost = False
        self._has_left = False
        for container in pod.spec.init_containers or ():
            self._add(container, "sidecar" if container.restart_policy == "Always" else "init")
        for container in pod.spec.containers:
            self._add(container, "app")
        self._resume()

    def start(self) -> None:
        """Begins to run the pod."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._tasks = [self._node.tasks.start(self._write_statuses())]
        if self.pod.spec.active_deadline_seconds is not None:
            self._tasks.append(self._node.tasks.start(self._deadline(self.pod.spec.active_deadline_seconds)))
        self._main = self._node.tasks.start(self._run())

    def update(self, pod: core.Pod) -> None:
        """Takes a new state of the pod: its end, ephemeral containers, labels, readiness gates."""
        self.pod = pod
        self._volumes.update(pod)
        if pod.metadata.deletion_timestamp is not None:
            if self._finishing is None:
                self._finishing = self._node.tasks.start(self.finish())
            return
        for container in pod.spec.ephemeral_containers or ():
            if container.name not in self.workers and not self.ending.is_set():
                self._add(container, "ephemeral")
                self._begin(container.name)
        if pod.spec.readiness_gates:
            self.changed()

    def changed(self) -> None:
        """Requests a write of the status."""
        self._dirty.set()

    # Containers

    def _add(self, container: AnyContainer, kind: ContainerKind) -> None:
        initializing = kind == "app" and bool(self.pod.spec.init_containers)
        waiting = "PodInitializing" if initializing else "ContainerCreating"
        state = ContainerState(container, kind, self._node.images.find(container.image), (waiting, ""))
        logs = self._folder / "logs" / container.name
        self.state.containers.append(state)
        self.workers[container.name] = ContainerWorker(
            self._node, self, state, self._launcher, logs, self.state.address
        )

    def _resume(self) -> None:
        """Continues the counts of a pod that ran before: its processes ended with the node that started them."""
        known = {
            each.name: each
            for each in (*(self.pod.status.init_container_statuses or ()), *(self.pod.status.container_statuses or ()))
        }
        now = self._node.clock.now()
        for state in self.state.containers:
            before = known.get(state.name)
            if before is None:
                continue
            state.restarts = before.restart_count
            if before.state is not None and before.state.running is not None:
                state.container_id = before.container_id or ""
                state.running_since = before.state.running.started_at or now
                state.end(now, 137, "ContainerStatusUnknown", "The process ended with its node")
                if state.kind == "app" and not restarts(self.pod, state.container, state.kind, 137):
                    state.done = self._is_lost = True
                else:
                    state.last, state.terminated = state.terminated, None
                    state.restarts += 1

    def _begin(self, name: str) -> asyncio.Task[None]:
        worker = self.workers[name]
        container, kind = worker.state.container, worker.state.kind
        running = worker.run(lambda code: restarts(self.pod, container, kind, code))
        task = self._containers[name] = self._node.tasks.start(running)
        return task

    # The life of a pod

    async def _run(self) -> None:
        if missing := not_honored(self.pod, self._node.images, self._node.mode):
            self._node.events.about(
                self.pod, "NotHonored", f"not honored by process nodes: {', '.join(missing)}", "Warning"
            )
        if self._node.addresses.shared and not self.pod.spec.host_network:
            self._share_address()
        self.changed()
        if self._is_lost:  # its containers ended with another node, and may not be started again
            self.state.initialized = True
            self.ending.set()
            return
        if not await self._provide_volumes():
            return
        self.state.volumes_ready = True
        self._tasks.append(self._node.tasks.start(self._volumes.keep_up_to_date()))
        if await self._initialize():
            self.state.initialized = True
            self.changed()
            apps = [self._begin(state.name) for state in self.state.of_kind("app")]
            await asyncio.gather(*apps, return_exceptions=True)
        if not self.ending.is_set():
            self.ending.set()
            await self._stop_sidecars(self._grace())
            self.changed()

    def _share_address(self) -> None:
        """Gives the pod ports of this machine, because it has no address but 127.0.0.1."""
        try:
            self.ports.update(self._node.ports.assign(self.pod))
        except OSError as error:
            self._node.events.about(self.pod, "PortConflict", f"no port is free: {error}", "Warning")
        used = [f"port {port} is {number} ($KUBEWRIGHT_PORT_{port})" for port, number in self.ports.items()]
        text = "Pods share 127.0.0.1, because this machine has no other loopback address"
        self._node.events.about(self.pod, "SharedAddress", f"{text}: {', '.join(used)}" if used else text, "Warning")

    async def _provide_volumes(self) -> bool:
        while not self.ending.is_set():
            try:
                async with self._node.starting:
                    await self._volumes.prepare()
                return True
            except VolumeFailure as failure:
                self._node.events.about(self.pod, "FailedMount", str(failure), "Warning")
                with contextlib.suppress(TimeLimitExceeded):
                    await within(self._node.clock, _MOUNT_SECONDS, self.ending.wait())
        return False

    async def _initialize(self) -> bool:
        """Runs the init containers in order. Returns whether all have succeeded."""
        for state in self.state.of_kind("init", "sidecar"):
            if self.ending.is_set():
                return False
            if state.kind == "sidecar":
                running = self._begin(state.name)
                while not state.started and not running.done():
                    await self._wait_for_change()
            else:
                await self._begin(state.name)
                if state.terminated is None or state.terminated.exit_code != 0:
                    return False
                state.ready = True
        return not self.ending.is_set()

    async def _wait_for_change(self) -> None:
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._change = change
        ending = self._node.tasks.start(self._set_after_end(change))
        try:
            await change
        finally:
            ending.cancel()

    async def _set_after_end(self, change: asyncio.Future[None]) -> None:
        await self.ending.wait()
        if not change.done():
            change.set_result(None)

    async def _deadline(self, seconds: int) -> None:
        passed = (self._node.clock.now() - self.state.start_time).total_seconds()
        await self._node.clock.sleep(seconds - passed)
        text = "Pod was active on the node longer than the specified deadline"
        self.state.failure = ("DeadlineExceeded", text)
        self._node.events.about(self.pod, "DeadlineExceeded", text)
        await self._stop_all(self._grace())
        self.changed()

    # The end of a pod

    def _grace(self) -> float:
        of_spec = self.pod.spec.termination_grace_period_seconds
        return float(of_spec if of_spec is not None else _GRACE)

    async def finish(self) -> None:
        """Ends the pod within its grace period, and removes it from the API server."""
        grace = self.pod.metadata.deletion_grace_period_seconds
        await self._stop_all(self._grace() if grace is None else float(grace))
        await self._write_status()
        metadata = self.pod.metadata
        await self._node.tasks.retry(
            lambda: self._node.client.delete(
                core.Pod, metadata.name, metadata.namespace, grace_period_seconds=0, uid=metadata.uid
            )
        )

    async def _stop_all(self, grace: float) -> None:
        """Stops containers together, then sidecars in reverse order. All share the grace period."""
        self.ending.set()
        deadline = self._node.clock.monotonic() + grace
        regular = [self.workers[state.name] for state in self.state.of_kind("init", "app", "ephemeral")]
        await asyncio.gather(*(worker.stop(grace) for worker in regular))
        await self._stop_sidecars(max(deadline - self._node.clock.monotonic(), _SIDECAR_GRACE if grace else 0))
        await asyncio.gather(*self._containers.values(), return_exceptions=True)
        if self._main is not None and self._main is not asyncio.current_task():
            await asyncio.gather(self._main, return_exceptions=True)

    async def _stop_sidecars(self, grace: float) -> None:
        deadline = self._node.clock.monotonic() + grace
        for state in reversed(self.state.of_kind("sidecar")):
            await self.workers[state.name].stop(max(deadline - self._node.clock.monotonic(), 0))
            if state.name in self._containers:
                await asyncio.gather(self._containers[state.name], return_exceptions=True)

    def leave(self) -> None:
        """Stops restarting containers and writing the status, because the node ends, not the pod."""
        self._has_left = True
        self.ending.set()

    def abort(self) -> None:
        """Kills the processes of a pod that no longer exists, and removes its files."""
        self.ending.set()
        for worker in self.workers.values():
            worker.kill()
        self._node.tasks.start(self._clean_up())

    async def _clean_up(self) -> None:
        await asyncio.gather(*self._containers.values(), return_exceptions=True)
        for task in (*self._tasks, self._main, self._finishing):
            if task is not None:
                task.cancel()
        self._volumes.close()
        if not self.pod.spec.host_network:
            self._node.addresses.release(self.state.address)
        self._node.ports.release(self.pod)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    # The status

    async def _write_statuses(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            if self._change is not None and not self._change.done():
                self._change.set_result(None)
            async with self._node.writing:
                await asyncio.sleep(0)  # lets others run between the writes of many pods
                await self._write_status()

    async def _write_status(self) -> None:
        status = status_of(self.pod, self.state, self._node.clock.now())
        if status == self._written or self._has_left:
            return
        self._written = status
        annotations = {PORTS_ANNOTATION: PodPorts.annotation(self.ports)} if self.ports else None
        written = await self._node.tasks.retry(
            lambda: write_status(self._node.client, self.pod, status, annotations=annotations)
        )
        if written is not None:
            self.pod.status = written.status

    @property
    def is_terminal(self) -> bool:
        """Whether the pod has succeeded or failed."""
        return phase_of(self.state) in _TERMINAL


def _address_of(pod: core.Pod, node: NodeContext) -> str:
    """Returns the address of a new pod, or of one that a former node of this name has started."""
    if pod.spec.host_network:
        return node.host_address
    former = pod.status.pod_ip
    return former if former and node.addresses.keep(former) else node.addresses.allocate()
