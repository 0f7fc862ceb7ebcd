"""`Cluster`: starts and stops the embedded cluster."""

from __future__ import annotations

import os
import random
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from kubewright.client import Client
from kubewright.clock import Clock, SystemClock, Timer, settled
from kubewright.cluster._features import ClusterError, ServiceRange, install_features, open_audit_log
from kubewright.cluster._initial_objects import add_initial_objects, publish_endpoint
from kubewright.cluster._state import State
from kubewright.cluster.access import user_named
from kubewright.cluster.controllers import Controllers
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.kubelets import PodStreams
from kubewright.cluster.machinery._authors import CONTROLLER_MANAGER
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._resources import ResourceTypes
from kubewright.cluster.proxies import Proxies
from kubewright.cluster.registry._builtin_resources import builtin_types
from kubewright.cluster.registry._upkeep import Upkeep
from kubewright.cluster.serving._in_process import InProcess
from kubewright.cluster.storage._snapshot import read_snapshot, write_snapshot
from kubewright.cluster.storage._storage import Storage

if TYPE_CHECKING:
    from kubewright.cluster.laboratory import Laboratory
    from kubewright.cluster.nodes import FakeNode
    from kubewright.cluster.processes import ApiServer
    from kubewright.cluster.services import ServiceForwarder
    from kubewright.cluster.serving._server import Serving
    from kubewright.cluster.workloads import RunningWorkloads, Workloads
    from kubewright.kubelet import NodeCredentials

__all__ = ["ADMIN", "Cluster", "ClusterError"]

ADMIN: Final = User("kubewright-admin", ("system:masters", "system:authenticated"))
_SAVE_SECONDS: Final = 10.0
_DEFAULT_HISTORY: Final = 10_000
_LEASES: Final = "coordination.k8s.io/leases"


class Cluster:
    """A Kubernetes API server in this process.

    `async with Cluster() as cluster: client = cluster.client()`. It starts in milliseconds, so that each test can have
    its own. Clients in this process need no socket. `serve` opens a port with TLS and credentials for other clients,
    and `kubeconfig` writes a kubeconfig for kubectl.

    A cluster belongs to the event loop in which it starts. Its objects are lost when it stops, unless `snapshot` names
    a file: the cluster reads it at the start and writes it at the end and every ten seconds while objects change.

    Unsupported requests are rejected with status 501 and the reason; a feature is never accepted and ignored. Without
    `rbac`, every authenticated client may do everything.

    Args:
        clock: the source of time. Default: the system's clock.
        seed: makes uids and generated names reproducible.
        snapshot: a file that keeps the objects between runs.
        history: the number of writes that watches and lists can go back.
        compaction: the interval in seconds at which old history is discarded; 300 in kube-apiserver. Default: never.
        controllers: whether garbage collection, namespace deletion and the default service accounts run. Without them,
            this is a bare API server.
        rbac: whether users may do only what roles grant, as on a real cluster. Adds the default roles. Clients in this
            process that name no user are the administrator, who may do everything.
        services: the addresses of Services that webhooks use, because Services have no machines here:
            `{"default/hooks": "127.0.0.1:9443"}`. `resolve_service` adds one later.
        service_range: the range of cluster IPs; default: "loopback" with `Workloads(processes=...)`, else 10.96.0.0/16.
            With "loopback" or a range in 127.0.0.0/8, Services are ports on loopback that forward to pods, webhooks
            are called there, and endpoints may have loopback addresses, which a real API server rejects.
        workloads: whether Deployments and other workloads get pods, and pods get nodes: True, or `Workloads(...)`.
        audit_log: a file to which each request is appended as an `audit.k8s.io/v1` Event, at level Metadata. It has
            mode 0600 and is rotated: at most five files of 32 MiB.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        seed: int | str | None = None,
        snapshot: str | os.PathLike[str] | None = None,
        history: int = _DEFAULT_HISTORY,
        compaction: float | None = None,
        controllers: bool = True,
        rbac: bool = False,
        services: Mapping[str, str] | None = None,
        service_range: str = "",
        workloads: bool | Workloads = False,
        audit_log: str | os.PathLike[str] | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._seed = seed
        # Only for uids and names. Certificates and tokens use secure randomness.
        self._rng = random.Random(seed)  # noqa: S311
        self._snapshot = None if snapshot is None else Path(snapshot)
        self._audit_log = None if audit_log is None else Path(audit_log)
        self._history = history
        self._with_controllers = controllers
        self._rbac = rbac
        self._services = dict(services or {})
        self._service_range = service_range
        self._range: ServiceRange
        self._controllers: Controllers | None = None
        if not isinstance(workloads, bool):
            from kubewright.cluster.workloads import Workloads

            if not isinstance(workloads, Workloads):
                raise TypeError(f"workloads must be True, False or Workloads(...), not {workloads!r}")
        self._with_workloads = workloads
        self._workloads: RunningWorkloads | None = None
        self._dispatcher: Dispatcher | None = None
        self._transports: weakref.WeakSet[InProcess] = weakref.WeakSet()
        self._serving: Serving | None = None
        self._pod_streams: PodStreams
        self._proxies: Proxies
        self._laboratory: Laboratory | None = None
        self._upkeep = Upkeep(compaction)
        self._saving: Timer | None = None
        self._saved_revision = 0
        self._clients: dict[str, int] = {}

    # Start and stop

    async def start(self) -> Self:
        """Starts the cluster, empty or with the objects of the snapshot."""
        if self._dispatcher is not None:
            raise ClusterError("the cluster is already running")
        storage = Storage(history=self._history)
        if self._snapshot is not None:
            read_snapshot(self._snapshot, storage)
        self._range = ServiceRange(self._service_range or ("loopback" if self._runs_pods else ""), storage)
        types, network = ResourceTypes(list(builtin_types())), self._range.network
        state = State(types=types, clock=self._clock, rng=self._rng, storage=storage, service_range=network)
        add_initial_objects(state, rbac=self._rbac)
        audit = None if self._audit_log is None else open_audit_log(self._audit_log, self._clock)
        self._dispatcher = Dispatcher(state, rbac=self._rbac)
        self._dispatcher.audit = audit
        state.webhook_client.services.update(self._services)
        install_features(self._dispatcher, runs_pods=self._runs_pods)
        self._pod_streams, self._proxies = PodStreams(self._dispatcher), Proxies(self._dispatcher)
        self._upkeep.start(state)
        if self._with_controllers:
            self._controllers = Controllers(state, self._dispatcher.access)
            self._controllers.start()
        try:
            await self._range.start(state, self.transport(warnings=False))
            await self._start_workloads()
        except BaseException:
            await self.stop()
            raise
        self._saved_revision = storage.revision
        if self._snapshot is not None:
            self._saving = self._clock.call_later(_SAVE_SECONDS, self._save_regularly)
        return self

    async def stop(self) -> None:
        """Ends watches and connections, and writes the snapshot. Does nothing if the cluster is not running."""
        if self._dispatcher is None:
            return
        if self._saving is not None:
            self._saving.cancel()
        try:
            if self._workloads is not None:
                workloads, self._workloads = self._workloads, None
                await workloads.stop()  # raises errors of nodes, such as an error in their plan
        finally:
            await self._stop_serving()

    async def _stop_serving(self) -> None:
        assert self._dispatcher is not None
        if self._laboratory is not None:
            self._laboratory.close()
            self._laboratory = None
        self._upkeep.stop()
        if self._controllers is not None:
            self._controllers.stop()
            self._controllers = None
        if self._snapshot is not None:
            self.save()
        if self._serving is not None:
            await self._serving.close()
            self._serving = None
        await self._range.stop()
        await self._pod_streams.close()
        await self._proxies.close()
        await self._dispatcher.state.webhook_client.close()
        for transport in list(self._transports):
            await transport.close()
        for stream in list(self._dispatcher.state.watchers):
            stream.close()
        if self._dispatcher.audit is not None:
            self._dispatcher.audit.close()
        self._dispatcher = None

    async def _start_workloads(self) -> None:
        if not self._with_workloads:
            return
        # Imported here because it imports operators and everything that they need.
        from kubewright.cluster.workloads import RunningWorkloads, Workloads, workloads_transport

        settings = self._with_workloads if isinstance(self._with_workloads, Workloads) else Workloads()
        inner = self.transport(User(CONTROLLER_MANAGER, ADMIN.groups), warnings=False)
        client = Client(transport=workloads_transport(inner, settings), clock=self._clock, rng=self._rng)
        running = RunningWorkloads(
            settings,
            client,
            clock=self._clock,
            rng=self._rng,
            leases_are_watched=self._leases_are_watched,
            credentials=self.node_credentials,
            api_server=self._api_server,
            services=lambda pod: self.forwarder.environment(pod),
        )
        self._workloads = await running.start()

    @property
    def _runs_pods(self) -> bool:
        return not isinstance(self._with_workloads, bool) and self._with_workloads.processes is not None

    def _api_server(self) -> ApiServer | None:
        """Returns the address of this server for pods that run as processes; None until it is served."""
        from kubewright.cluster.processes import ApiServer

        if self._serving is None:
            return None
        ca = self._running.state.ca_certificate
        return ApiServer(self._serving.url, ca.encode() if ca else None)

    def _leases_are_watched(self) -> bool:
        return any(watcher.storage == _LEASES for watcher in self._running.state.watchers)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def save(self) -> None:
        """Writes the snapshot now."""
        if self._snapshot is None:
            raise ClusterError("the cluster has no snapshot file; start it with Cluster(snapshot=PATH)")
        storage = self._running.state.storage
        write_snapshot(self._snapshot, storage)
        self._saved_revision = storage.revision

    def _save_regularly(self) -> None:
        if self._saved_revision != self._running.state.storage.revision:
            self.save()
        self._saving = self._clock.call_later(_SAVE_SECONDS, self._save_regularly)

    # Access

    @property
    def _running(self) -> Dispatcher:
        if self._dispatcher is None:
            raise ClusterError("the cluster is not running; use `async with Cluster()`, or `await cluster.start()`")
        return self._dispatcher

    @property
    def state(self) -> State:
        """The server's storage, resource types and clock, for extensions."""
        return self._running.state

    @property
    def dispatcher(self) -> Dispatcher:
        """The dispatcher that handles requests, for extensions."""
        return self._running

    @property
    def rbac(self) -> bool:
        """Whether users may do only what roles grant."""
        return self._rbac

    def transport(self, user: User = ADMIN, *, warnings: bool = True) -> InProcess:
        """Returns a transport for a client in this process. `warnings=False` drops the server's warnings."""
        made = InProcess(self._running, user, warnings=warnings)
        self._transports.add(made)
        return made

    def client(self, *, user: User = ADMIN, **settings: Any) -> Client:  # the settings of Client
        """Returns a client without sockets. Takes the settings of `Client`. Default clock: the cluster's."""
        settings.setdefault("clock", self._clock)
        if self._seed is not None:  # for the delays of retries
            self._clients[user.name] = number = self._clients.get(user.name, 0) + 1
            settings.setdefault("rng", random.Random(f"client {user.name} {number} {self._seed}"))  # noqa: S311
        return Client(transport=self.transport(user), **settings)

    def client_as(self, user: str, *groups: str, **settings: Any) -> Client:  # the settings of Client
        """Returns a client of a user: `client_as("system:serviceaccount:default:robot")`, `client_as("jane",
        "developers")`.

        The user is also in the groups that the server adds: `system:authenticated`, and those of service accounts.
        """
        return self.client(user=user_named(user, groups), **settings)

    @property
    def nodes(self) -> Sequence[FakeNode]:
        """The nodes of the workloads, to make pods fail or restart: `await cluster.nodes[0].fail("web-0", ns)`.

        Empty without workloads.
        """
        return () if self._workloads is None else tuple(self._workloads.nodes)

    @property
    def forwarder(self) -> ServiceForwarder:
        """Forwards the ports of Services to pods. Raises ClusterError if their range is not on loopback."""
        self._running  # noqa: B018  # raises if the cluster is not running
        return self._range.forwarder

    def resolve_service(self, namespace: str, name: str, address: str) -> None:
        """Sends calls to webhooks behind a Service to this address, `host:port`, from now on."""
        self._services[f"{namespace}/{name}"] = address
        self._running.state.webhook_client.services[f"{namespace}/{name}"] = address

    @property
    def lab(self) -> Laboratory:
        """Fault injection that a real cluster does not offer: failing requests, stalled watches, rewinding, histories.

        See `kubewright.cluster.laboratory`. It records events from its first use on.
        """
        if self._laboratory is None:
            from kubewright.cluster.laboratory import Laboratory

            # A separate generator: using the laboratory does not change uids and names.
            rng = random.Random(None if self._seed is None else f"laboratory {self._seed}")  # noqa: S311
            self._laboratory = Laboratory(self._running, rng)
        return self._laboratory

    async def settled(self) -> None:
        """Waits until nothing is left to do now, without advancing virtual time.

        Controllers and workloads have then reacted to all writes so far.
        """
        while True:
            before = self._running.state.storage.revision
            await settled(self._clock)
            if self._controllers is not None:
                await self._controllers.settled()
            if self._workloads is not None:
                await self._workloads.settled()
            if self._running.state.storage.revision == before:
                return

    def compact(self) -> int:
        """Compacts all history: watches and lists of the past get 410. Returns the first revision that is left."""
        return self._running.state.storage.compact()

    async def serve(self, *, port: int = 0, host: str = "127.0.0.1", tls: bool = True) -> str:
        """Listens on a port and returns the URL. Default: a free port, with TLS and a CA that is created now.

        Clients need a client certificate, such as the one in `kubeconfig`, or a token: `token`, or that of a service
        account. With RBAC, other clients are `system:anonymous`. Without TLS the cluster listens on loopback only and
        still requires a token, which most clients do not send without TLS.
        """
        from kubewright.cluster.serving._server import Serving

        if self._serving is not None:
            raise ClusterError(f"the cluster is already served at {self._serving.url}")
        self._serving = await Serving.open(self._running, host=host, port=port, tls=tls)
        publish_endpoint(self._running.state, host, urlsplit(self._serving.url).port or 0)
        if tls and self._controllers is not None:
            self._controllers.certificate_changed()
        return self._serving.url

    def node_credentials(self, node: str, address: str = "127.0.0.1") -> NodeCredentials:
        """Returns the certificates with which the kubelet of a node serves logs, exec and port-forwarding."""
        self._running  # noqa: B018  # raises if the cluster is not running
        return self._pod_streams.connections.credentials(node, address)

    @property
    def url(self) -> str:
        """The URL on which it listens. Raises ClusterError if it is not served."""
        return self._served.url

    @property
    def token(self) -> str:
        """The administrator's bearer token, a secret. Raises ClusterError if it is not served."""
        return self._served.token

    @property
    def _served(self) -> Serving:
        if self._serving is None:
            raise ClusterError("the cluster is not served on a port; call `await cluster.serve()` first")
        return self._serving

    def kubeconfig(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes the administrator's kubeconfig and returns its path. Default: a temporary file.

        Raises ClusterError if the cluster is not served.
        """
        return self._served.kubeconfig(None if path is None else Path(path))
