"""`Cluster`: the embedded cluster, from its start to its end."""

from __future__ import annotations

import os
import random
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from kubewright.client import Client
from kubewright.clock import Clock, SystemClock, Timer, settled
from kubewright.cluster._initial_objects import add_initial_objects
from kubewright.cluster._state import State
from kubewright.cluster.access import CreationByUpdate, NoEscalation, user_named
from kubewright.cluster.admission.webhooks import add_webhooks
from kubewright.cluster.controllers import Controllers
from kubewright.cluster.crds import Definitions
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.limits import LimitRanger, QuotaAdmission
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._resources import ResourceTypes
from kubewright.cluster.nodes import add_node_calls
from kubewright.cluster.policies import add_policies
from kubewright.cluster.protobuf import CONTENT_TYPE, read_protobuf
from kubewright.cluster.registry._builtin_resources import builtin_types
from kubewright.cluster.registry._event_ttl import ExpiringEvents
from kubewright.cluster.registry.strategies._services import remember_services
from kubewright.cluster.serving._in_process import InProcess
from kubewright.cluster.storage._snapshot import read_snapshot, write_snapshot
from kubewright.cluster.storage._storage import Storage

if TYPE_CHECKING:
    from kubewright.cluster.audit._log import AuditLog
    from kubewright.cluster.laboratory import Laboratory
    from kubewright.cluster.nodes import FakeNode
    from kubewright.cluster.serving._server import Serving
    from kubewright.cluster.workloads import RunningWorkloads, Workloads

__all__ = ["ADMIN", "Cluster", "ClusterError"]

ADMIN: Final = User("kubewright-admin", ("system:masters", "system:authenticated"))
_SAVE_SECONDS: Final = 10.0
_DEFAULT_HISTORY: Final = 10_000
_LEASES: Final = "coordination.k8s.io/leases"


class ClusterError(RuntimeError):
    """The cluster cannot do what it was asked to do; the text says why."""


class Cluster:
    """A Kubernetes API server in this process.

    `async with Cluster() as cluster: client = cluster.client()`. It starts in milliseconds, so that each test can have
    one of its own. Clients in this process need no sockets; `serve` opens a port for everyone else, with TLS and
    credentials, and `kubeconfig` writes the file that kubectl takes. It belongs to the event loop that it is started
    in, and everything is gone with it, unless `snapshot` names a file: state is read from there at the start, and
    written at the end and every ten seconds while it changes.

    What it does not support it refuses, with status 501 and the reason; it never accepts something and ignores it.
    Without `rbac`, whoever is let in may do everything.

    Args:
        clock: time; the system's unless given.
        seed: makes uids and generated names the same in each run.
        snapshot: a file that keeps the state between runs.
        history: how many writes are remembered, for watches and lists of the past.
        controllers: whether the controllers of every cluster run: garbage collection, the emptying of namespaces, and
            a service account in each. Without them it is a bare API server.
        rbac: whether users may do only what roles grant, as on a real cluster, whose default roles are there then. The
            administrator, who is everyone without credentials in this process, may do everything.
        services: where Services are that webhooks are behind, which have no machines here: `{"default/hooks":
            "127.0.0.1:9443"}`. `resolve_service` adds one later.
        workloads: whether Deployments and other workloads get pods, and those nodes: True, or how.
        audit_log: a file to which each request is appended as an `audit.k8s.io/v1` Event, at level Metadata. It has
            mode 0600 and is rotated: five files of 32 MiB at most.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        seed: int | str | None = None,
        snapshot: str | os.PathLike[str] | None = None,
        history: int = _DEFAULT_HISTORY,
        controllers: bool = True,
        rbac: bool = False,
        services: Mapping[str, str] | None = None,
        workloads: bool | Workloads = False,
        audit_log: str | os.PathLike[str] | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._seed = seed
        # Nothing secret comes from it: uids and names only. Certificates and tokens have randomness of their own.
        self._rng = random.Random(seed)  # noqa: S311
        self._snapshot = None if snapshot is None else Path(snapshot)
        self._audit_log = None if audit_log is None else Path(audit_log)
        self._history = history
        self._with_controllers = controllers
        self._rbac = rbac
        self._services = dict(services or {})
        self._controllers: Controllers | None = None
        if not isinstance(workloads, bool):
            from kubewright.cluster.workloads import Workloads

            if not isinstance(workloads, Workloads):
                raise TypeError(f"workloads is True, False or Workloads(...), not {workloads!r}")
        self._with_workloads = workloads
        self._workloads: RunningWorkloads | None = None
        self._dispatcher: Dispatcher | None = None
        self._transports: weakref.WeakSet[InProcess] = weakref.WeakSet()
        self._serving: Serving | None = None
        self._laboratory: Laboratory | None = None
        self._events: ExpiringEvents | None = None
        self._saving: Timer | None = None
        self._saved_revision = 0

    # Life

    async def start(self) -> Self:
        """Begin. An empty cluster, or the one of the snapshot."""
        if self._dispatcher is not None:
            raise ClusterError("this cluster is running already")
        storage = Storage(history=self._history)
        if self._snapshot is not None:
            read_snapshot(self._snapshot, storage)
        state = State(types=ResourceTypes(list(builtin_types())), clock=self._clock, rng=self._rng, storage=storage)
        add_initial_objects(state, rbac=self._rbac)
        audit = None if self._audit_log is None else _audit_log(self._audit_log, self._clock)
        self._dispatcher = Dispatcher(state, rbac=self._rbac)
        self._dispatcher.audit = audit
        state.webhook_client.services.update(self._services)
        _add_rooms(self._dispatcher)
        self._events = ExpiringEvents(state)
        self._events.start()
        if self._with_controllers:
            self._controllers = Controllers(state, self._dispatcher.access.tokens)
            self._controllers.start()
        await self._start_workloads()
        self._saved_revision = storage.revision
        if self._snapshot is not None:
            self._saving = self._clock.call_later(_SAVE_SECONDS, self._save_regularly)
        return self

    async def stop(self) -> None:
        """End: watches, connections, and everything that is not in a snapshot. Harmless when it is not running."""
        if self._dispatcher is None:
            return
        if self._saving is not None:
            self._saving.cancel()
        try:
            if self._workloads is not None:
                workloads, self._workloads = self._workloads, None
                await workloads.stop()  # raises what a node could not handle, such as an error of its plan
        finally:
            await self._stop_serving()

    async def _stop_serving(self) -> None:
        assert self._dispatcher is not None
        if self._laboratory is not None:
            self._laboratory.close()
            self._laboratory = None
        if self._events is not None:
            self._events.stop()
        if self._controllers is not None:
            self._controllers.stop()
            self._controllers = None
        if self._snapshot is not None:
            self.save()
        if self._serving is not None:
            await self._serving.close()
            self._serving = None
        await self._dispatcher.state.webhook_client.close()
        for transport in list(self._transports):
            await transport.close()
        for stream in list(self._dispatcher.state.streams):
            stream.close()
        if self._dispatcher.audit is not None:
            self._dispatcher.audit.close()
        self._dispatcher = None

    async def _start_workloads(self) -> None:
        if not self._with_workloads:
            return
        # With operators and all that they need.
        from kubewright.cluster.workloads import RunningWorkloads, SigningTransport, Workloads

        settings = self._with_workloads if isinstance(self._with_workloads, Workloads) else Workloads()
        client = Client(transport=SigningTransport(self.transport(warnings=False)), clock=self._clock)
        running = RunningWorkloads(
            settings, client, clock=self._clock, rng=self._rng, leases_are_watched=self._leases_are_watched
        )
        try:
            self._workloads = await running.start()
        except BaseException:
            await self.stop()
            raise

    def _leases_are_watched(self) -> bool:
        return any(watcher.storage == _LEASES for watcher in self._running.state.streams)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def save(self) -> None:
        """Write the snapshot now."""
        if self._snapshot is None:
            raise ClusterError("this cluster has no snapshot file: Cluster(snapshot=PATH)")
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
            raise ClusterError("this cluster is not running; use it in `async with`, or start it")
        return self._dispatcher

    @property
    def state(self) -> State:
        """Storage, kinds, time: for those who extend the cluster."""
        return self._running.state

    @property
    def dispatcher(self) -> Dispatcher:
        """What answers requests: for those who extend the cluster."""
        return self._running

    @property
    def rbac(self) -> bool:
        """Whether users may do only what roles grant."""
        return self._rbac

    def transport(self, user: User = ADMIN, *, warnings: bool = True) -> InProcess:
        """A way to the server for a client in this process; one that hears no warnings, if it cannot heed them."""
        made = InProcess(self._running, user, warnings=warnings)
        self._transports.add(made)
        return made

    def client(self, *, user: User = ADMIN, **settings: Any) -> Client:  # the settings are those of Client
        """A client in this process, without sockets. It takes the settings of `Client`, and this cluster's clock."""
        settings.setdefault("clock", self._clock)
        return Client(transport=self.transport(user), **settings)

    def client_as(self, user: str, *groups: str, **settings: Any) -> Client:  # the settings are those of Client
        """A client of some user: `client_as("system:serviceaccount:default:robot")`, `client_as("jane", "developers")`.

        The user is in the groups that all of that kind are in, too, as service accounts are in theirs.
        """
        return self.client(user=user_named(user, groups), **settings)

    @property
    def nodes(self) -> Sequence[FakeNode]:
        """The nodes of its workloads, to let pods fail or restart by hand: `await cluster.nodes[0].fail("web-0", ns)`.

        Empty without workloads.
        """
        return () if self._workloads is None else tuple(self._workloads.nodes)

    def resolve_service(self, namespace: str, name: str, address: str) -> None:
        """Call webhooks that are behind a Service at this address, `host:port`, from now on."""
        self._services[f"{namespace}/{name}"] = address
        self._running.state.webhook_client.services[f"{namespace}/{name}"] = address

    @property
    def lab(self) -> Laboratory:
        """What no real cluster can do: requests that fail, watches that stand still, going back, histories.

        See `kubewright.cluster.laboratory`. It knows of what happens from its first use on.
        """
        if self._laboratory is None:
            from kubewright.cluster.laboratory import Laboratory

            # A chance of its own: uids and names stay the same, whether it is used or not.
            rng = random.Random(None if self._seed is None else f"laboratory {self._seed}")  # noqa: S311
            self._laboratory = Laboratory(self._running, rng)
        return self._laboratory

    async def settled(self) -> None:
        """Wait until nothing is left to do at this moment, and let no virtual time pass.

        Then the controllers and the workloads have done everything that follows from the writes so far.
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
        """Forget all history: watches and lists of the past get 410. Answers with the revision it begins at now."""
        return self._running.state.storage.compact()

    async def serve(self, *, port: int = 0, host: str = "127.0.0.1", tls: bool = True) -> str:
        """Listen on a port, a free one unless named; the URL. Over TLS with a CA of its own, made now.

        Whoever connects needs a client certificate, such as the one in `kubeconfig`, or a token: `token`, or that of a
        service account. With RBAC others come in, too, as `system:anonymous`. Without TLS it listens on this machine
        alone, and still wants a token, which most clients do not send without TLS.
        """
        from kubewright.cluster.serving._server import Serving

        if self._serving is not None:
            raise ClusterError(f"this cluster is served already, at {self._serving.url}")
        self._serving = await Serving.open(self._running, host=host, port=port, tls=tls)
        if tls and self._controllers is not None:
            self._controllers.certificate_changed()
        return self._serving.url

    @property
    def url(self) -> str:
        """Where it listens. Raises ClusterError unless it is served."""
        return self._served.url

    @property
    def token(self) -> str:
        """The administrator's bearer token, a secret. Raises ClusterError unless it is served."""
        return self._served.token

    @property
    def _served(self) -> Serving:
        if self._serving is None:
            raise ClusterError("this cluster has no port; call `await cluster.serve()` first")
        return self._serving

    def kubeconfig(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the administrator's kubeconfig, to a file that is removed at the end unless one is named; its path.

        Raises ClusterError unless the cluster is served.
        """
        return self._served.kubeconfig(None if path is None else Path(path))


def _audit_log(path: Path, clock: Clock) -> AuditLog:
    from kubewright.cluster.audit._log import AuditLog

    try:
        return AuditLog(path, clock)
    except OSError as error:
        reason = error.strerror or error
        raise ClusterError(f"cannot write the audit log {path}: {reason}; name a file in a writable folder") from error


def _add_rooms(dispatcher: Dispatcher) -> None:
    """What is not part of the core: custom resources, bodies in protobuf, and the calls of schedulers."""
    state = dispatcher.state
    state.decoders[CONTENT_TYPE] = read_protobuf
    definitions = Definitions(state, dispatcher.write)
    dispatcher.overrides.append(definitions.override)
    dispatcher.supported.add(definitions.resource)
    definitions.start()
    state.restored.append(definitions.restored)
    add_webhooks(dispatcher)
    add_policies(dispatcher)
    state.admission.add(LimitRanger(state))
    state.admission.add(QuotaAdmission(state))
    if dispatcher.access.authorizer.rbac:
        state.admission.add(CreationByUpdate(dispatcher.access.authorizer))
        state.admission.add(NoEscalation(dispatcher.access.authorizer))
    add_node_calls(dispatcher)
    remember_services(state)
