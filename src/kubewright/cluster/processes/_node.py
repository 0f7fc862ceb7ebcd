"""`ProcessNode`: a node whose pods are processes of this machine."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, Self

from kubewright.api import Quantity, core
from kubewright.api.authorization import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from kubewright.client import ApiError, Client
from kubewright.clock import Clock, SystemClock
from kubewright.cluster.nodes import BackgroundTasks, FakeNode, KubeletEvents, Plan
from kubewright.cluster.processes._api_server import ApiServer, check_local, server_of
from kubewright.cluster.processes._context import NodeContext, ServiceVariables
from kubewright.cluster.processes._environment import Environment
from kubewright.cluster.processes._images import Images
from kubewright.cluster.processes._mounts import MountMode, find_mode
from kubewright.cluster.processes._runtime import ProcessRunner
from kubewright.cluster.processes._sources import Sources
from kubewright.cluster.processes._volumes import VolumeSettings
from kubewright.cluster.services import LoopbackAddresses
from kubewright.http import Server
from kubewright.kubelet import KubeletServer, NodeCredentials

__all__ = ["ProcessNode"]

_HOST: Final = "127.0.0.1"
_RESTART_DELAY: Final = 10.0
_STOP_SECONDS: Final = 2.0


class ProcessNode(FakeNode):
    """A node that runs pods with mapped images as processes, and simulates others like a `FakeNode`.

    Use it with `async with`. It uses the API alone. At its end, also if its process is killed, no process of a pod is
    left. It is not a sandbox: programs run with the rights of this process, unless a pod names a user and this process
    runs as root.

    Args:
        client: the administrator's client. Its server must be on this machine, unless `allow_remote`.
        images: the programs of images. Nothing else runs.
        plan: the behavior of pods without a mapped image.
        credentials: for logs, exec, attach and port-forwarding: `cluster.node_credentials(name)`. Default: not served.
        api_server: returns where programs find the API server. Default: that of the client.
        mounts: how volumes appear at their paths. Default: the best way on this machine.
        host_root: the folder that hostPath volumes are in. Default: they are refused.
        storage: the folder of persistent volume claims. Default: a folder that is removed at the end.
        services: returns the variables of Services for a pod: `ServiceForwarder.environment`. Default: those of the API
            server alone.
        restart_delay: the first delay of the crash loop backoff, in seconds; doubled each time, up to 5 minutes.
        addresses: of pods; the node closes it. Default: a free network of loopback addresses, or 127.0.0.1 for all pods
            on a machine without such addresses.
    """

    def __init__(
        self,
        client: Client,
        images: Images,
        *,
        name: str = "process-node",
        namespace: str | None = None,
        plan: Plan | None = None,
        schedules: bool = True,
        clock: Clock | None = None,
        lease_is_watched: Callable[[], bool] = lambda: True,
        credentials: NodeCredentials | None = None,
        api_server: Callable[[], ApiServer | None] | None = None,
        mounts: MountMode | None = None,
        host_root: str | os.PathLike[str] | None = None,
        storage: str | os.PathLike[str] | None = None,
        services: ServiceVariables | None = None,
        restart_delay: float = _RESTART_DELAY,
        addresses: LoopbackAddresses | None = None,
        allow_remote: bool = False,
    ) -> None:
        if not isinstance(images, Images):
            raise TypeError(f"images must be Images(...), not {images!r}")
        if not allow_remote:
            check_local(server_of(client.config))
        clock = clock or SystemClock()
        tasks = BackgroundTasks(f"the node {name}", clock)
        self._api_server = api_server or (lambda: server_of(client.config))
        self._more_services = services
        self._credentials = credentials
        self._storage = None if storage is None else Path(storage)
        sources = Sources(client, tasks, clock, self._root_ca)
        allocatable = {"cpu": Quantity(os.cpu_count() or 1), "memory": Quantity(_memory())}
        self._context = NodeContext(
            name=name,
            client=client,
            clock=clock,
            tasks=tasks,
            events=KubeletEvents(client, name, clock),
            images=images,
            sources=sources,
            environment=Environment(sources, allocatable, _HOST),
            volumes=VolumeSettings(
                self._storage or Path(), None if host_root is None else Path(host_root), _HOST, allocatable
            ),
            mode=mounts or "none",
            services=self._services,
            restart_delay=restart_delay,
            host_address=_HOST,
            parent=Path(tempfile.gettempdir()),
        )
        self._find_mode = mounts is None
        self._pod_addresses = addresses
        self._processes = ProcessRunner(self._context)
        self._own_stack = AsyncExitStack()
        super().__init__(
            client,
            name=name,
            namespace=namespace,
            plan=plan,
            schedules=schedules,
            clock=clock,
            lease_is_watched=lease_is_watched,
            runner=self._processes,
        )

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._start_processes(stack)
            await super().__aenter__()
            self._own_stack = stack.pop_all()
        return self

    async def __aexit__(self, *details: object) -> None:
        try:
            await super().__aexit__(*details)
        finally:
            await self._own_stack.aclose()
        self._context.tasks.check()

    async def _start_processes(self, stack: AsyncExitStack) -> None:
        context = self._context
        if self._find_mode:
            context.mode = await asyncio.to_thread(find_mode)
        supervisor = await context.running_supervisor()
        stack.push_async_callback(context.close)
        self._processes.folder = supervisor.directory
        context.addresses = self._pod_addresses or LoopbackAddresses()
        stack.callback(context.addresses.close)
        if self._storage is None:
            claims = supervisor.directory / "claims"
            context.volumes = VolumeSettings(
                claims, context.volumes.host_root, context.volumes.host_address, context.volumes.allocatable
            )
        context.events.start()
        stack.push_async_callback(context.events.close)
        stack.push_async_callback(context.tasks.end)
        stack.push_async_callback(self._processes.stop, _STOP_SECONDS)
        if self._credentials is not None:
            kubelet = KubeletServer(self._processes, self._authorize)
            server = Server(kubelet.handle, tls=self._credentials.tls_context())
            await stack.enter_async_context(server)
            self._processes.port = server.port

    async def _authorize(self, user: str, groups: Sequence[str], verb: str, subresource: str) -> bool:
        attributes = ResourceAttributes(verb=verb, resource="nodes", subresource=subresource, name=self.name)
        spec = SubjectAccessReviewSpec(user=user, groups=list(groups), resource_attributes=attributes)
        try:
            review = await self._context.client.create(SubjectAccessReview(spec=spec))
        except ApiError:
            return False
        return review.status is not None and bool(review.status.allowed)

    def _services(self, pod: core.Pod) -> Mapping[str, str]:
        server = self._api_server()
        own = server.variables() if server is not None else {}
        more = self._more_services(pod) if self._more_services is not None else {}
        return {**more, **own}

    def _root_ca(self) -> bytes | None:
        server = self._api_server()
        return server.ca if server is not None else None

    async def restart(self, pod: str, namespace: str, *, exit_code: int = 1) -> None:
        """Kills the main process of every container once; a simulated pod is restarted as its plan says."""
        if not self._processes.kill(pod, namespace):
            await super().restart(pod, namespace, exit_code=exit_code)


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
