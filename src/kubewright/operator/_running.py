"""`Running`: one run of an operator."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from kubewright.api import Object, info_of
from kubewright.cache import Caches, ObjectKey
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock, check_clock
from kubewright.controller import (
    Applier,
    CachedKinds,
    Controller,
    Dependencies,
    Environment,
    Registration,
    Replacement,
    start_dependencies,
)
from kubewright.controller.children import shared_child_kinds
from kubewright.controller.registration import key_of_kind
from kubewright.durations import Duration, check_duration
from kubewright.observe import Inspection, LogBook, Observer, Sources, UndeclaredWrites
from kubewright.operator._blocked_loop import watch_event_loop
from kubewright.operator._clusters import HasClient, HasKubeconfig, check_cluster, connect
from kubewright.operator._idempotence import check_idempotent
from kubewright.operator._killing import Killable
from kubewright.operator._leadership import lead, make_elector, record_election
from kubewright.operator._settling import wait_until_settled
from kubewright.operator._syncing import check_connection, wait_for_sync
from kubewright.operator._tracing import tracing_of
from kubewright.operator._webhooks import WebhookRun
from kubewright.operator.access import DeclaredAccess
from kubewright.operator.definition import OperatorDefinition, Stage, define_kinds
from kubewright.operator.endpoints import HttpServer, serve_endpoints
from kubewright.operator.logs import keeping_logs
from kubewright.operator.settings import SettingError, Settings
from kubewright.tasks import cancel_and_wait

if TYPE_CHECKING:
    from kubewright.election import ElectionEvent, LeaderElector
    from kubewright.events import EventRecorder, EventVersion

__all__ = ["Running"]

R = TypeVar("R", bound=Object)

logger = logging.getLogger("kubewright.operator")

_NOT_RUNNING = "the operator is not running: enter it with `async with operator.running() as running`"


class Running(Killable):
    """One run of an operator, until the end of `async with`. An operator can run several times in succession.

    Entering waits until all caches are in sync. It raises `CacheSyncError` with the kind and the reason if a cache does
    not fill in time. Without leader election, the workers have then started. With it, entering does not wait for the
    leadership: the workers start when this replica becomes the leader (`wait_for_leadership`), and stop for good when
    it loses the lease (`wait_for_failure`). Leaving lets running reconciles finish, and releases the lease.
    """

    def __init__(
        self,
        operator: OperatorDefinition,
        cluster: Client | HasClient | HasKubeconfig | None = None,
        *,
        install_crds: bool = False,
        check_server: bool = False,
        settings: Settings | None = None,
        clock: Clock | None = None,
        replace: Sequence[Replacement] = (),
    ) -> None:
        self.settings = settings or operator.settings
        self._operator = operator
        self._given_clock = check_clock(clock) or operator.clock
        super().__init__(f"operator {operator.name}", self._given_clock or SystemClock())
        self._replaced = replace
        self._dependencies = Dependencies()
        self._install_crds = install_crds
        self._check_server = check_server
        self._cluster = check_cluster(cluster)
        self.caches: Caches | None = None
        self._client: Client | None = None
        self._rng: random.Random = operator.rng or random.Random()  # noqa: S311  # jitter and names, no secrets
        self._grace = self.settings.grace
        self._leading: asyncio.Task[None] | None = None
        self._election_recorders: dict[str, EventRecorder] = {}
        self.elector: LeaderElector | None = None
        self.controllers: list[Controller[Any]] = []
        self.servers: list[HttpServer] = []
        self.webhooks = WebhookRun(operator, self.settings, testing=not check_server, clock=self.clock)
        self.observer = Observer()
        self.recorder: EventRecorder | None = None
        self.started_at = self.clock.now()
        self.sources = self._sources()
        """The sources of metrics and debug pages."""
        self.logs = LogBook()  # of each object, after `keep_logs` was called
        self._keeps_logs = False

    # Start and stop

    async def __aenter__(self) -> Self:
        try:
            await self._starting(self._start)
        except BaseException:
            if not self.killed:
                await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.killed:
            return
        logger.info("operator %s is stopping", self._operator.name)
        self.stopping = True
        await self._stack.aclose()

    async def _start(self) -> None:
        """Starts everything in order. The stack closes it in the reverse order."""
        operator, settings, clock = self._operator, self.settings, self.clock
        self.started_at = clock.now()
        registrations = operator.registrations(settings)
        if not registrations and not operator.has_webhooks:
            raise SettingError(f"operator {operator.name!r} has nothing to do: register a reconciler or a webhook")
        connected = await self._stack.enter_async_context(
            connect(self._cluster, settings, clock=self._given_clock, rng=operator.rng)
        )
        self._rng = rng = operator.rng or connected.rng  # that of a seeded cluster makes runs reproducible
        self.observer = observer = Observer(connected.host, tracing=tracing_of(settings))
        client = connected.writing_as(operator.name).with_hooks(*observer.hooks)
        self.elector = make_elector(
            settings,
            connected,
            operator.name,
            on_event=self._on_election_event,
            clock=self._given_clock,
            rng=rng,
        )
        operator.metrics.sources = self.sources
        self._stack.enter_context(self._of_process)
        self._of_process.callback(operator.metrics.leave, self.sources)
        self.servers += await serve_endpoints(operator, self, client, self._stack)
        self._dependencies = await start_dependencies(operator.dependencies, self._replaced, self._stack)
        await self.webhooks.serve(client, self._stack)
        await self._enter("webhooks")
        if self._check_server:
            logger.info("operator %s connects to %s", operator.name, connected.host)
            await check_connection(client, settings.sync_timeout)
        if self._install_crds:
            await define_kinds(
                client,
                registrations,
                self._operator.webhooks.kinds() if self._operator.has_webhooks else [],
                timeout=settings.install_timeout,
                conversions=await self.webhooks.conversions(client),
                include_missing=not self._check_server,
            )
        await self.webhooks.install(client, self._stack)
        client = DeclaredAccess(operator, settings).limit(client)
        self.caches = caches = Caches(
            client,
            namespaces=settings.namespaces,
            namespace_labels=settings.namespace_labels,
            field_manager=operator.name,
            clock=clock,
            rng=rng,
        )
        environment = self._environment(client, registrations)
        environment.caches.declare([use for one in registrations for use in one.caches], caches)
        self.controllers += [Controller(registration, environment) for registration in registrations]
        for kind, name, function in operator.indexed:
            environment.caches.add_index(kind, name, function)
        if self.elector is None:
            # Before the caches start, so that the initial list reaches the queues as it arrives.
            self._listen()
        await self._stack.enter_async_context(caches)
        await wait_for_sync(caches, settings.sync_timeout)
        logger.info("operator %s: caches are in sync: %d", operator.name, len(caches.informers))
        await self._enter("others")
        # While webhooks drain, everything that handlers use is still there, but the lease is already released.
        self._stack.push_async_callback(self.webhooks.wait_until_drained)
        if self.elector is not None:
            await self._join_election(self.elector, client, environment.recorder)
        await self._stack.enter_async_context(environment.recorder)
        await self._stack.enter_async_context(self._leader_stack)
        self._stack.push_async_callback(self._stop_controllers)
        self._watchdogs.append(watch_event_loop(self._stack))  # not earlier: imports at the start may take long
        if self.elector is None:
            await self._work()
        else:
            self._leading = asyncio.create_task(self._lead(self.elector), name=f"leadership of {operator.name}")
            self._stack.push_async_callback(self._stop_leading)

    def _environment(self, client: Client, registrations: Sequence[Registration[Any]]) -> Environment:
        """Returns what the controllers share. Their writes, including events, require the leadership."""
        operator, elector = self._operator, self.elector
        clock, kinds = self.clock, CachedKinds()
        self._client = client if elector is None else elector.fence(client)
        self.recorder = self._record_with(self._client)
        return Environment(
            client=self._client,
            caches=kinds,
            applier=Applier(self._client, kinds, field_manager=operator.name, clock=clock),
            recorder=self.recorder,
            clock=clock,
            loop=asyncio.get_running_loop(),
            rng=self._rng,
            leads=None if elector is None else lambda: elector.is_leader,
            undeclared_writes=UndeclaredWrites(registrations, operator.needed),
            shared_children=shared_child_kinds((one.kind, owns.kind) for one in registrations for owns in one.owns),
            pause_annotation=self.settings.pause_annotation,
            failure_events=self.settings.failure_events is not False,
            observer=self.observer,
            dependencies=self._dependencies,
        )

    def _record_with(self, client: Client) -> EventRecorder:
        from kubewright.events import EventRecorder  # imports all of core/v1, which importing an operator does not need

        operator, version = self._operator, cast("EventVersion", self.settings.event_version)
        return EventRecorder(client, operator.name, version=version, clock=self.clock, rng=self._rng)

    def _sources(self) -> Sources:
        """Returns the sources of metrics; each returns what exists when it is called."""
        return Sources(
            controllers=lambda: self.controllers,
            informers=lambda: self.caches.informers if self.caches is not None else (),
            requests=lambda: [self.observer.requests],
            recorders=lambda: [self.recorder] if self.recorder is not None else (),
            electors=lambda: [self.elector] if self.elector is not None else (),
            webhooks=lambda: [self.webhooks.server.stats] if self.webhooks.server is not None else (),
            certificates=lambda: [self.webhooks.server.certificate] if self.webhooks.server is not None else (),
            watchdogs=lambda: self._watchdogs,
            clock=self._given_clock,
        )

    def _listen(self) -> None:
        for controller in self.controllers:
            controller.listen()

    async def _enter(self, stage: Stage) -> None:
        stack = self._leader_stack if stage == "leader" else self._stack
        for component in self._operator.components[stage]:
            await stack.enter_async_context(component(self))

    async def _work(self) -> None:
        await self._enter("leader")
        if self.elector is not None:
            # Not earlier: a standby would accumulate keys and deleted objects. Its caches are warm.
            self._listen()
        for controller in self.controllers:
            controller.start()
        logger.info("operator %s has started; controllers: %d", self._operator.name, len(self.controllers))

    async def _stop_controllers(self) -> None:
        # Concurrently: the grace period is that of the operator, not of each controller.
        await asyncio.gather(*(controller.stop(self._grace) for controller in self.controllers))

    def stop_now(self) -> None:
        """Interrupts running reconciles. Leaving then waits neither for them nor for further webhook requests."""
        self._grace = 0.0
        self.webhooks.close_now()
        for controller in self.controllers:
            controller.interrupt()

    @property
    def interrupted(self) -> int:
        """How many reconciles were interrupted."""
        return sum(controller.stats.interrupted for controller in self.controllers)

    # Leader election

    async def _join_election(self, elector: LeaderElector, client: Client, fenced: EventRecorder) -> None:
        # "Stopped leading" can only be recorded without the fence. "Became leader" must not be recorded by a replica
        # that was paused and has lost the lease since.
        unfenced = self._record_with(client)
        self._election_recorders = {"started": fenced, "stopped": await self._stack.enter_async_context(unfenced)}
        await self._stack.enter_async_context(elector)

    def _on_election_event(self, event: ElectionEvent) -> None:
        if self.elector is not None and event.kind in self._election_recorders:
            record_election(event, self.elector, self._election_recorders[event.kind])

    async def _lead(self, elector: LeaderElector) -> None:
        await lead(
            elector,
            self._operator.name,
            self._work,
            stop=self.stop_now,
            components=self._leader_stack,
            clock=self.clock,
            grace=self.settings.grace,
        )

    async def _stop_leading(self) -> None:
        assert self._leading is not None
        await cancel_and_wait(self._leading)  # `wait_for_failure` raises its exception

    @property
    def is_leader(self) -> bool:
        """Whether this replica is the leader; always True without leader election."""
        return self.elector is None or self.elector.is_leader

    async def wait_for_leadership(self) -> None:
        """Waits until this replica is the leader. Returns immediately without leader election.

        Raises `NotLeader` if the lease was already lost.
        """
        if self.elector is not None:
            await self.elector.wait_for_leadership()

    async def wait_for_failure(self) -> None:
        """Waits until the operator fails, and raises the reason, such as `NotLeader` after it lost the lease."""
        if self.caches is None:
            raise RuntimeError(_NOT_RUNNING)
        waits = [asyncio.ensure_future(self.caches.wait_for_failure())]
        if self._leading is not None:
            waits.append(asyncio.ensure_future(asyncio.shield(self._leading)))
        try:
            ended, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in ended:
                await wait
        finally:
            await cancel_and_wait(*waits)

    # For tests and tools

    async def settled(self, timeout: Duration = 30.0) -> None:
        """Waits until nothing is left to do at this moment. No virtual time passes.

        Then every queue is empty, no reconcile runs, every cache matches the cluster, the embedded cluster of this run
        is settled too, and no timer of a virtual clock is due. Keys with a later retry do not count: `advance` the
        clock to reach them.

        Raises `TimeoutError` after `timeout` real seconds. Its message lists the remaining work.
        """
        if self.caches is None:
            raise RuntimeError(_NOT_RUNNING)
        if self.killed:
            raise RuntimeError("the operator was killed, so it never settles: start it again")
        remote = self._client is not None and self._client.config is not None
        await wait_until_settled(
            self._operator.name,
            self.clock,
            self.controllers,
            caches=self.caches if remote else None,
            cluster=self._cluster,
            timeout=check_duration("timeout", timeout),
        )

    async def check_idempotent(self, timeout: Duration = 30.0) -> None:
        """Reconciles every object once more. Raises `NotIdempotent` if a reconcile writes anything or fails.

        Use it at the end of a test: an operator that writes although nothing changed does so at every resync. It waits
        for `settled` before and after. No virtual time passes. Objects in backoff are reconciled too.
        """
        await check_idempotent(self.controllers, lambda: self.settled(timeout))

    @property
    def client(self) -> Client:
        """The operator's client. With leader election, its writes require that this replica is the leader."""
        if self._client is None:
            raise RuntimeError(_NOT_RUNNING)
        return self._client

    def controller(self, kind: type[R]) -> Controller[R]:
        """Returns the first controller of a kind."""
        for controller in self.controllers:
            if controller.kind is kind:
                return controller
        raise LookupError(f"operator {self._operator.name!r} has no controller of {kind.__name__}")

    def inspect(self, kind: type[Object], name: str, namespace: str = "") -> Inspection:
        """Returns what is known about an object: its triggers, its state in the queue, its last reconciles."""
        return self.controller(kind).inspect(ObjectKey(namespace, name))

    @property
    def operator(self) -> OperatorDefinition:
        """The operator."""
        return self._operator

    def keep_logs(self) -> LogBook:
        """Starts to keep the last log lines about each object, until the run ends. Returns the book that has them."""
        if not self._keeps_logs and not self.stopping:
            self._keeps_logs = True
            names = lambda: {controller.name for controller in self.controllers}  # noqa: E731
            self._of_process.enter_context(keeping_logs(self.logs, names))
        return self.logs

    def enqueue(self, kind: type[Object], key: ObjectKey | Object | str) -> None:
        """Requests a reconcile, from any thread. Raises TypeError for a key that is invalid for the kind."""
        self.controller(kind).enqueue(key_of_kind(info_of(kind), key))
