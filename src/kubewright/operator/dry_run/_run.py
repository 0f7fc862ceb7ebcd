"""`dry_run`: reconciles every object once, without changing the cluster."""

from __future__ import annotations

import asyncio
import functools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import msgspec

from kubewright.cache import Caches, ObjectKey, simulate
from kubewright.client import Client
from kubewright.client.wire import resource_path
from kubewright.clock import Clock, SystemClock, settled
from kubewright.controller import (
    Applier,
    CachedKinds,
    Controller,
    Environment,
    Registration,
    Replacement,
    Result,
)
from kubewright.controller.children import shared_child_kinds
from kubewright.controller.registration import Handler, Handlers
from kubewright.counts import counted
from kubewright.events import EventRecorder
from kubewright.observe import HistoryBounds, Observer, UndeclaredWrites
from kubewright.operator._clusters import HasClient, HasKubeconfig, check_cluster, connect
from kubewright.operator._syncing import wait_for_sync
from kubewright.operator.access import DeclaredAccess
from kubewright.operator.definition import OperatorDefinition
from kubewright.operator.dry_run._declared import check_declared, start_harmless_dependencies
from kubewright.operator.dry_run._report import DryRunReport, ReconcileFailure, change_of
from kubewright.operator.dry_run._simulation import ObjectAddress, Simulation
from kubewright.operator.dry_run._transport import DryRunTransport
from kubewright.operator.settings import SettingError, Settings

__all__ = ["dry_run"]

RECONCILES_AT_MOST: Final = 10
"""Reconciles of one object. An object that needs more is reported as a failure."""
_RETRIES_AT_MOST: Final = 3
_NEVER: Final = 1e9
_POLL_SECONDS: Final = 0.005
_BOUNDS: Final = HistoryBounds(objects=10_000_000, bytes=2**40, results=1, changes=0, change_bytes=0)
_KEEP_FINALIZER: Final = Result(requeue_after=_NEVER)


async def dry_run(
    operator: OperatorDefinition,
    cluster: Client | HasClient | HasKubeconfig | None,
    settings: Settings,
    *,
    timeout: float,
    clock: Clock | None = None,
    replace: Sequence[Replacement] = (),
) -> DryRunReport:
    """Returns the changes that the operator would make. See `Operator.dry_run`."""
    check_declared(operator, replace)
    if not (registrations := operator.registrations(settings)):
        raise SettingError(f"operator {operator.name!r} has nothing to do: register a reconciler")
    async with AsyncExitStack() as stack:
        run = _DryRun(operator, settings, registrations, clock)
        where = check_cluster(cluster)
        connected = await stack.enter_async_context(connect(where, settings, clock=clock, rng=operator.rng))
        await run.start(connected, stack, replace)
        unfinished = await run.wait(timeout)
        return run.report(unfinished)


class _Limiter:
    """Retries a failed key a few times without a delay, because nothing changes that it could wait for."""

    def __init__(self) -> None:
        self._retries: Counter[ObjectKey] = Counter()

    def when(self, key: ObjectKey) -> float:
        self._retries[key] += 1
        return 0.0 if self._retries[key] <= _RETRIES_AT_MOST else _NEVER

    def forget(self, key: ObjectKey) -> None:
        self._retries.pop(key, None)

    def retries(self, key: ObjectKey) -> int:
        return self._retries[key]


class _DryRun:
    def __init__(
        self,
        operator: OperatorDefinition,
        settings: Settings,
        registrations: Sequence[Registration[Any]],
        clock: Clock | None,
    ) -> None:
        self._operator = operator
        self._settings = settings
        self._skipped = [one for one in registrations if one.role != "reconciler"]
        self._calls: Counter[tuple[str, ObjectKey]] = Counter()
        self._registrations = [self._harmless(one) for one in registrations if one.role == "reconciler"]
        self._clock = clock or operator.clock or SystemClock()
        self._simulation = Simulation()
        self._controllers: list[Controller[Any]] = []

    # Registrations

    def _harmless(self, registration: Registration[Any]) -> Registration[Any]:
        """Returns the controller without finalizers, callbacks, triggers and resyncs."""

        def handlers() -> Handlers:
            made = registration.make_handlers()
            reconcile = None if made.reconcile is None else self._bounded(registration.name, made.reconcile)
            return Handlers(reconcile=reconcile, finalize=None if made.finalize is None else _UNFINISHED)

        return msgspec.structs.replace(
            registration,
            make_handlers=handlers,
            finalizers=[(name, _UNFINISHED) for name, _ in registration.finalizers],
            deleted=[],
            triggers=[],
            resync=None,
            rate_limiter=_Limiter,
        )

    def _bounded(self, controller: str, handler: Handler) -> Handler:
        """Returns the handler that does nothing after too many calls for one object."""
        function = handler.function

        def may_run(ctx: Any) -> bool:
            self._calls[(controller, ctx.key)] += 1
            return self._calls[(controller, ctx.key)] <= RECONCILES_AT_MOST

        if handler.blocking:

            @functools.wraps(function)
            def call(subject: Any, ctx: Any) -> Any:
                return function(subject, ctx) if may_run(ctx) else None

            return msgspec.structs.replace(handler, function=call)

        @functools.wraps(function)
        async def call_async(subject: Any, ctx: Any) -> Any:
            return await function(subject, ctx) if may_run(ctx) else None

        return msgspec.structs.replace(handler, function=call_async)

    # The run

    async def start(self, connected: Client, stack: AsyncExitStack, replace: Sequence[Replacement]) -> None:
        """Fills the caches and starts the controllers."""
        operator, settings, clock = self._operator, self._settings, self._clock
        observer = Observer(connected.host, bounds=_BOUNDS)
        client = connected.writing_as(operator.name).with_hooks(*observer.hooks)
        client = client.through(lambda transport: DryRunTransport(transport, self._simulation))
        client = DeclaredAccess(operator, settings).limit(client)
        dependencies = await start_harmless_dependencies(operator, replace, stack)
        caches = Caches(
            client,
            namespaces=settings.namespaces,
            namespace_labels=settings.namespace_labels,
            field_manager=operator.name,
            clock=clock,
            rng=operator.rng,
        )
        kinds = CachedKinds()
        kinds.declare([use for one in self._registrations for use in one.caches], caches)
        pairs = ((one.kind, owns.kind) for one in self._registrations for owns in one.owns)
        environment = Environment(
            client=client,
            caches=kinds,
            applier=Applier(client, kinds, field_manager=operator.name, clock=clock),
            recorder=EventRecorder(client, operator.name, clock=clock),  # never started, so it writes nothing
            clock=clock,
            loop=asyncio.get_running_loop(),
            rng=operator.rng or random.Random(),  # noqa: S311  # for trace ids, which are not secret
            undeclared_writes=UndeclaredWrites(self._registrations, operator.needed),
            shared_children=shared_child_kinds(pairs),
            pause_annotation=settings.pause_annotation,
            failure_events=False,
            observer=observer,
            dependencies=dependencies,
        )
        self._controllers += [Controller(registration, environment) for registration in self._registrations]
        for kind, name, function in operator.indexed:
            kinds.add_index(kind, name, function)
        for controller in self._controllers:
            controller.listen()
        await stack.enter_async_context(caches)
        await wait_for_sync(caches, settings.sync_timeout)
        self._simulation.frozen = True
        self._simulation.changed = functools.partial(_deliver, caches)
        stack.push_async_callback(self._stop)
        for controller in self._controllers:
            controller.start()

    async def wait(self, timeout: float) -> bool:
        """Waits until no key is ready and none runs. Returns whether the timeout expired first."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    await settled(self._clock)
                    if all(controller.idle for controller in self._controllers):
                        return False
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            return True

    async def _stop(self) -> None:
        await asyncio.gather(*(controller.stop(0) for controller in self._controllers))

    # The report

    def report(self, unfinished: bool) -> DryRunReport:
        """Returns the changes so far."""
        failures: list[ReconcileFailure] = []
        waiting: list[ReconcileFailure] = []
        for controller in self._controllers:
            for key in sorted({*controller.history.objects(), *controller.queue.keys()}):
                problem, waits = self._problem(controller, key, unfinished)
                if problem is not None:
                    (waiting if waits else failures).append(problem)
        changes = (change_of(found) for found in self._simulation.objects.values())
        return DryRunReport(
            operator=self._operator.name,
            reconciled=len({(name, key) for name, key in self._calls}),
            changes=tuple(change for change in changes if change is not None),
            failures=tuple(failures),
            waiting=tuple(waiting),
            not_shown=tuple(self._not_shown()),
        )

    def _problem(
        self, controller: Controller[Any], key: ObjectKey, unfinished: bool
    ) -> tuple[ReconcileFailure | None, bool]:
        """Returns why the object is not done, and whether it only waits."""
        inspection = controller.inspect(key)
        newest = inspection.results[0] if inspection.results else None
        error, waits = (newest.error, not newest.result.endswith("error")) if newest is not None else ("", False)
        if self._calls[(controller.name, key)] > RECONCILES_AT_MOST:
            error, waits = f"still changes something after {RECONCILES_AT_MOST} reconciles", False
        elif unfinished and inspection.queue.state in ("running", "waiting"):
            error, waits = f"was not finished in time: {inspection.queue.state}", False
        if not error:
            return None, False
        failure = ReconcileFailure(
            controller=controller.name,
            kind=controller.info.kind,
            namespace=key.namespace,
            name=key.name,
            error=error,
        )
        return failure, waits

    def _not_shown(self) -> Iterator[str]:
        operator = self._operator
        for controller in self._controllers:
            name = controller.name
            snapshots = [controller.snapshot(key) for key in controller.object_keys()]
            if deleting := sum(one is not None and one.deleting for one in snapshots):
                what = counted(deleting, f"object of {name} is", f"objects of {name} are")
                yield f"{what} being deleted; finalizers did not run"
            if paused := controller.paused_objects:
                yield counted(paused, f"object of {name} is paused", f"objects of {name} are paused")
        for registration in self._skipped:
            yield f"the {registration.role} {registration.name} did not run"
        for triggered in (one for one in operator.registrations(self._settings) if one.triggers):
            yield f"the triggers of {triggered.name} did not run"
        if any(operator.components.values()):
            yield "the attached components did not start"
        for write in self._simulation.other_writes:
            yield f"the server accepted `{write}`, and its effect is not shown"


async def _unfinished(*_: object) -> Result:
    """Stands for a finalizer: it is never done, so the object stays as it is."""
    return _KEEP_FINALIZER


_UNFINISHED: Final = Handler(function=_unfinished, name="finalizer", blocking=False, by_key=False)


def _deliver(caches: Caches, address: ObjectAddress, raw: bytes | None) -> None:
    """Passes a simulated state to the caches of its kind."""
    for informer in caches.informers:
        if resource_path(informer.info, None) == address.collection:
            simulate(informer, ObjectKey(address.namespace, address.name), raw)
