"""`Running`: an operator at work."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from kubewright.api import Object, info_of
from kubewright.cache import Caches, ObjectKey
from kubewright.client import Client, load_config
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
from kubewright.controller.registration import key_of_kind
from kubewright.durations import format_duration
from kubewright.observe import Inspection, LogBook, Observer, Sources, UndeclaredWrites
from kubewright.operator._clusters import HasClient, HasKubeconfig, check_cluster, makes_clients
from kubewright.operator._idempotence import check_idempotent
from kubewright.operator._kinds import cached_kinds, define_kinds
from kubewright.operator._leadership import make_elector, record_election
from kubewright.operator._settling import wait_until_settled
from kubewright.operator._stages import Stage
from kubewright.operator._syncing import reach, sync
from kubewright.operator._tracing import tracing_of
from kubewright.operator._webhooks import WebhookRun
from kubewright.operator.access import DeclaredAccess
from kubewright.operator.endpoints import HttpServer, serve_endpoints
from kubewright.operator.logs import keeping_logs
from kubewright.operator.settings import SettingError, Settings

if TYPE_CHECKING:
    from kubewright.election import ElectionEvent, LeaderElector
    from kubewright.events import EventRecorder, EventVersion
    from kubewright.operator._operator import Operator

__all__ = ["Running"]

R = TypeVar("R", bound=Object)

logger = logging.getLogger("kubewright.operator")

_NOT_RUNNING = "the operator is not running: use it as `async with operator.running() as running`"


class Running:
    """One run of an operator, from `async with` to its end. An operator can run several times, one after the other.

    Entering waits until all caches are in sync; it raises `CacheSyncError` when a cache does not fill, naming the kind
    and the reason. Without leader election the workers have started by then. With it, entering does not wait for the
    leadership: the workers start as soon as this replica leads (`wait_for_leadership`), and stop for good when it does
    not any more (`wait_for_failure`). Leaving lets running reconciles finish, and gives the lease back.
    """

    def __init__(
        self,
        operator: Operator,
        cluster: Client | HasClient | HasKubeconfig | None = None,
        *,
        install_crds: bool = False,
        reach_first: bool = False,
        settings: Settings | None = None,
        clock: Clock | None = None,
        replace: Sequence[Replacement] = (),
    ) -> None:
        self.settings = settings or operator.settings
        self._operator = operator
        self._given_clock = check_clock(clock) or operator.clock
        self.clock: Clock = self._given_clock or SystemClock()
        """The time of this run."""
        self._replaced = replace
        self._dependencies = Dependencies()
        self._install_crds = install_crds
        self._reach_first = reach_first
        self._cluster = check_cluster(cluster)
        self._stack = AsyncExitStack()
        self._leader_stack = AsyncExitStack()
        self.caches: Caches | None = None
        self.stopping = False
        self._client: Client | None = None
        self._grace = self.settings.grace
        self._leading: asyncio.Task[None] | None = None
        self._election_recorders: dict[str, EventRecorder] = {}
        self.elector: LeaderElector | None = None
        self.controllers: list[Controller[Any]] = []
        self.servers: list[HttpServer] = []
        self.webhooks = WebhookRun(operator, self.settings, testing=not reach_first, clock=self.clock)
        self.observer = Observer()
        self.recorder: EventRecorder | None = None
        self.started_at = self.clock.now()
        self.sources = self._sources()
        """What metrics and pages tell of."""
        self.logs = LogBook()
        """The last lines of the log about each object, once `keep_logs` was asked for."""
        self._keeps_logs = False

    # Life

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logger.info("operator %s is stopping", self._operator.name)
        self.stopping = True
        await self._stack.aclose()

    async def _start(self) -> None:
        """Start everything in order. What is open when the stack unwinds is closed in the reverse order."""
        operator, settings, clock = self._operator, self.settings, self.clock
        self.started_at = clock.now()
        registrations = operator.registrations(settings)
        if not registrations and not operator.has_webhooks:
            raise SettingError(f"operator {operator.name!r} has nothing to do: register a reconciler first")
        connected = await self._connect()
        self.observer = observer = Observer(connected.host, tracing=tracing_of(settings))
        client = connected.writing_as(operator.name).with_hooks(*observer.hooks)
        self.elector = make_elector(
            settings, connected, operator.name, on_event=self._hear, clock=self._given_clock, rng=operator.rng
        )
        operator.metrics.sources = self.sources
        self._stack.callback(operator.metrics.leave, self.sources)
        self.servers += await serve_endpoints(operator, self, client, self._stack)
        self._dependencies = await start_dependencies(operator.dependencies, self._replaced, self._stack)
        await self.webhooks.serve(client, self._stack)
        await self._enter("webhooks")
        if self._reach_first:
            logger.info("operator %s works with %s", operator.name, connected.host)
            await reach(client, settings.sync_timeout)
        if self._install_crds:
            await define_kinds(
                client,
                registrations,
                self._operator.webhooks.kinds() if self._operator.has_webhooks else [],
                timeout=settings.install_timeout,
                conversions=await self.webhooks.conversions(client),
                absent_ones=not self._reach_first,
            )
        await self.webhooks.tell(client, self._stack)
        client = DeclaredAccess(operator, settings).limit(client)
        self.caches = caches = Caches(
            client, namespaces=settings.namespaces, field_manager=operator.name, clock=clock, rng=operator.rng
        )
        environment = self._environment(client, registrations)
        for registration in registrations:
            for kind, labels in cached_kinds(registration):
                environment.caches.add(kind, labels, caches.informer(kind, labels=labels))
            self.controllers.append(Controller(registration, environment))
        for kind, name, function in operator.indexed:
            environment.caches.add_index(kind, name, function)
        if self.elector is None:
            # Before the caches run, so that the initial list reaches the queues as it arrives.
            self._listen()
        await self._stack.enter_async_context(caches)
        await sync(caches, settings.sync_timeout)
        logger.info("operator %s has its caches in sync: %d", operator.name, len(caches.informers))
        await self._enter("others")
        self._stack.push_async_callback(self.webhooks.wait_while_asked)  # with all that handlers use, without the lease
        if self.elector is not None:
            await self._stand(self.elector, client, environment.recorder)
        await self._stack.enter_async_context(environment.recorder)
        await self._stack.enter_async_context(self._leader_stack)
        self._stack.push_async_callback(self._stop_controllers)
        if self.elector is None:
            await self._work()
        else:
            self._leading = asyncio.create_task(self._lead(self.elector), name=f"leadership of {operator.name}")
            self._stack.push_async_callback(self._give_up_leading)

    async def _connect(self) -> Client:
        cluster, settings = self._cluster, self.settings
        if isinstance(cluster, Client):
            return cluster
        if makes_clients(cluster):
            return await self._stack.enter_async_context(cluster.client())
        kubeconfig = settings.kubeconfig if cluster is None else cast("HasKubeconfig", cluster).kubeconfig
        config = load_config(kubeconfig=kubeconfig, context=settings.context, server=settings.server)
        client = Client(config, clock=self._given_clock, rng=self._operator.rng)
        return await self._stack.enter_async_context(client)

    def _environment(self, client: Client, registrations: Sequence[Registration[Any]]) -> Environment:
        """What the controllers share. All that they write, also events, they write only while this replica leads."""
        operator, elector = self._operator, self.elector
        clock, kinds = self.clock, CachedKinds(self.settings.namespaces)
        self._client = client if elector is None else elector.fence(client)
        self.recorder = self._record_with(self._client)
        return Environment(
            client=self._client,
            caches=kinds,
            applier=Applier(self._client, kinds, field_manager=operator.name, clock=clock),
            recorder=self.recorder,
            clock=clock,
            loop=asyncio.get_running_loop(),
            rng=operator.rng or random.Random(),  # noqa: S311  # for the ids of traces, which are no secret
            leads=None if elector is None else lambda: elector.is_leader,
            undeclared_writes=UndeclaredWrites(registrations, operator.needed),
            observer=self.observer,
            dependencies=self._dependencies,
        )

    def _record_with(self, client: Client) -> EventRecorder:
        from kubewright.events import EventRecorder  # with all of core/v1: not needed to import an operator

        operator, version = self._operator, cast("EventVersion", self.settings.event_version)
        return EventRecorder(client, operator.name, version=version, clock=self.clock, rng=operator.rng)

    def _sources(self) -> Sources:
        """Where metrics come from, as far as it is there at the time of asking."""
        return Sources(
            controllers=lambda: self.controllers,
            informers=lambda: self.caches.informers if self.caches is not None else (),
            requests=lambda: [self.observer.requests],
            recorders=lambda: [self.recorder] if self.recorder is not None else (),
            electors=lambda: [self.elector] if self.elector is not None else (),
            webhooks=lambda: [self.webhooks.server.stats] if self.webhooks.server is not None else (),
            certificates=lambda: [self.webhooks.server.certificate] if self.webhooks.server is not None else (),
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
            # Only now: a standby would gather keys, and objects that went, as long as it waits. Its caches are warm.
            self._listen()
        for controller in self.controllers:
            controller.start()
        logger.info("operator %s has started; controllers: %d", self._operator.name, len(self.controllers))

    async def _stop_controllers(self) -> None:
        # All at once: the grace period is the operator's, not each controller's.
        await asyncio.gather(*(controller.stop(self._grace) for controller in self.controllers))

    def stop_now(self) -> None:
        """Let leaving not wait for running reconciles, but interrupt them, nor for requests that may still come."""
        self._grace = 0.0
        self.webhooks.close_now()
        for controller in self.controllers:
            controller.interrupt()

    @property
    def interrupted(self) -> int:
        """How many reconciles were cut short."""
        return sum(controller.stats.interrupted for controller in self.controllers)

    # Leading

    async def _stand(self, elector: LeaderElector, client: Client, fenced: EventRecorder) -> None:
        # That we led can only be told without a fence; that we lead, by one who was paused meanwhile, must not be.
        free = self._record_with(client)
        self._election_recorders = {"started": fenced, "stopped": await self._stack.enter_async_context(free)}
        await self._stack.enter_async_context(elector)

    def _hear(self, event: ElectionEvent) -> None:
        if self.elector is not None and event.kind in self._election_recorders:
            record_election(event, self.elector, self._election_recorders[event.kind])

    async def _lead(self, elector: LeaderElector) -> None:
        """Work from the moment in which this replica leads; when that is over, stop at once and raise `NotLeader`."""
        from kubewright.election import NotLeader

        await elector.wait_for_leadership()
        loss = asyncio.ensure_future(elector.wait_for_loss())
        start = asyncio.ensure_future(self._work())
        try:
            # Also while the start is under way: whoever hangs there must not hide that the lease is gone.
            await asyncio.wait([start, loss], return_when=asyncio.FIRST_COMPLETED)
            if start.done():
                await start
            reason = await loss
        except Exception:
            logger.exception("operator %s leads, but cannot start its work", self._operator.name)
            raise
        finally:
            await _ended(start, loss)
        # It is somebody else's by now or will be soon; a write to it would be one more of an old leader.
        elector.release_on_exit = False
        self.stop_now()
        await self._leave_leading()
        raise NotLeader(f"the leadership of {elector.namespace}/{elector.name} was lost: {reason}")

    async def _leave_leading(self) -> None:
        """End what is attached for the leader; but what hangs there must not hide that the lease is gone."""
        clock, grace = self.clock, self.settings.grace
        ending, time = asyncio.ensure_future(self._leader_stack.aclose()), asyncio.ensure_future(clock.sleep(grace))
        await asyncio.wait([ending, time], return_when=asyncio.FIRST_COMPLETED)
        time.cancel()
        if ending.done():
            return await ending
        ending.cancel()
        logger.error(
            "what is attached for the leader does not end within %s, and is not waited for", format_duration(grace)
        )
        return None

    async def _give_up_leading(self) -> None:
        assert self._leading is not None
        await _ended(self._leading)  # whoever wanted to know how has asked `wait_for_failure`

    @property
    def is_leader(self) -> bool:
        """Whether this replica may work in this moment; always, without leader election."""
        return self.elector is None or self.elector.is_leader

    async def wait_for_leadership(self) -> None:
        """Wait until this replica leads; not at all without leader election. Raises `NotLeader` when that is over."""
        if self.elector is not None:
            await self.elector.wait_for_leadership()

    async def wait_for_failure(self) -> None:
        """Wait until the operator cannot go on, and raise why: `NotLeader` when its lease is lost. Else for ever."""
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
            await _ended(*waits)

    # Looking and prodding

    async def settled(self, timeout: float = 30.0) -> None:
        """Wait until nothing is left to do at this moment, and let no virtual time pass.

        Then every queue is empty, no reconcile runs, every cache shows what the cluster has, the embedded cluster that
        this run was given is settled, too, and no timer of a virtual clock is due. Keys that come back later do not
        count: `advance` the clock to reach them.

        Raises `TimeoutError` with what is left after so many real seconds.
        """
        if self.caches is None:
            raise RuntimeError(_NOT_RUNNING)
        remote = self._client is not None and self._client.config is not None
        await wait_until_settled(
            self._operator.name,
            self.clock,
            self.controllers,
            caches=self.caches if remote else None,
            cluster=self._cluster,
            timeout=timeout,
        )

    async def check_idempotent(self, timeout: float = 30.0) -> None:
        """Reconcile every object once more; raises `NotIdempotent` if that writes anything or fails.

        For the end of a test: an operator that writes although nothing has changed does so at every resync. It waits
        for `settled` before and after, and lets no virtual time pass. Objects that wait for a backoff are reconciled,
        too.
        """
        await check_idempotent(self.controllers, lambda: self.settled(timeout))

    @property
    def client(self) -> Client:
        """The client that the operator works with. With leader election it writes only while this replica leads."""
        if self._client is None:
            raise RuntimeError(_NOT_RUNNING)
        return self._client

    def controller(self, kind: type[R]) -> Controller[R]:
        """The first controller of that kind."""
        for controller in self.controllers:
            if controller.kind is kind:
                return controller
        raise LookupError(f"operator {self._operator.name!r} has no controller of {kind.__name__}")

    def inspect(self, kind: type[Object], name: str, namespace: str = "") -> Inspection:
        """All that is known about an object: what woke it, where it is in the queue, how its last reconciles went."""
        return self.controller(kind).inspect(ObjectKey(namespace, name))

    @property
    def operator(self) -> Operator:
        """The operator that runs."""
        return self._operator

    def keep_logs(self) -> LogBook:
        """Keep the last lines of the log about each object, from now to the end of the run; where they are kept."""
        if not self._keeps_logs and not self.stopping:
            self._keeps_logs = True
            names = lambda: {controller.name for controller in self.controllers}  # noqa: E731
            self._stack.enter_context(keeping_logs(self.logs, names))
        return self.logs

    def enqueue(self, kind: type[Object], key: ObjectKey | Object | str) -> None:
        """Ask for a reconcile, from any thread. Raises TypeError for what no object of the kind can have as its key."""
        self.controller(kind).enqueue(key_of_kind(info_of(kind), key))


async def _ended(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and wait for their end, however it is."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
