"""`Controller`: a queue and workers that follow the rules of `_reconcile`."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any, Final, Literal, TypeVar

from msgspec.structs import replace

from kubewright.api import Object
from kubewright.cache import Change, HandlerRegistration, ObjectKey, Snapshot
from kubewright.causes import error_text
from kubewright.controller._context_backend import ContextBackend
from kubewright.controller._controller_view import ControllerView
from kubewright.controller._daemons import RESET_AFTER, DaemonBackend
from kubewright.controller._deletions import DeletionCallbacks
from kubewright.controller._enqueuing import Enqueuer
from kubewright.controller._environment import Environment
from kubewright.controller._failure_events import FailureEvents
from kubewright.controller._failure_reports import FailureReports, log_for, suppress_logging_errors
from kubewright.controller._finalizers import Finalizers
from kubewright.controller._handler_calls import HandlerCalls
from kubewright.controller._key_records import KeyRecord, KeyRecords
from kubewright.controller._listening import index_references, listen_to_others
from kubewright.controller._object_logger import ObjectLogger
from kubewright.controller._pausing import Pausing
from kubewright.controller._priorities import ObjectPriority
from kubewright.controller._processing import ObjectProcessing
from kubewright.controller._reconcile import NOTHING, RetryLater
from kubewright.controller._retries import Retries
from kubewright.controller._selection import Selection
from kubewright.controller._sources import from_trigger, passes, priority_of
from kubewright.controller.registration import Registration
from kubewright.durations import Duration, check_duration, format_duration
from kubewright.observe import ControllerStats, Ending, Reconcile
from kubewright.queue import WorkQueue
from kubewright.user_code import has_to_pass

__all__ = ["Controller", "ControllerStats", "Ending"]

_logger = logging.getLogger("kubewright.controller")

R = TypeVar("R", bound=Object)

_FAILED: Final[frozenset[Ending]] = frozenset({"error", "terminal_error"})


class Controller(ControllerView[R]):
    """Reconciles the objects of one kind. The operator creates it, calls `listen`, and starts it after the caches.

    Guarantees: see `_reconcile`. `enqueue` may be called from any thread.
    """

    def __init__(self, registration: Registration[R], environment: Environment) -> None:
        self._caches = environment.caches.of(registration.name)
        environment = replace(environment, caches=self._caches)
        handlers, clock = registration.make_handlers(), environment.clock
        self.name, self.kind = registration.name, registration.kind
        self.stats = ControllerStats()
        self.history = environment.observer.history()
        self.queue: WorkQueue[ObjectKey] = WorkQueue(
            registration.name, rate_limiter=registration.rate_limiter(), clock=clock
        )
        self._registration = registration
        self._is_daemon = registration.role == "daemon"
        self._environment = environment
        self._informer = self._caches.primary
        by_object = registration.priority
        self._priority = None if by_object is None else ObjectPriority(by_object, self._informer.lister)
        self._records = KeyRecords()
        self._enqueuer = Enqueuer(self.queue, clock, self._records, environment.statuses.is_own)
        self._backend = partial(
            DaemonBackend if self._is_daemon else ContextBackend,
            environment,
            registration.kind,
            registration.info,
            enqueuer=self._enqueuer,
            prunable=tuple(one.kind for one in registration.owns if one.verbs is None or "delete" in one.verbs),
        )
        failures = FailureEvents(self.snapshot, self._record_event) if environment.failure_events else None
        self._reports = FailureReports(environment.former_finalizers, self._record_event, failures)
        self._retries = Retries(
            self.queue,
            self.stats,
            self._reports,
            environment.leads,
            lambda: self.resync_in,
            reset_after=RESET_AFTER if self._is_daemon else None,
        )
        finalizers = list(registration.finalizers)
        if handlers.finalize is not None and registration.class_finalizer is not None:
            finalizers.append((registration.class_finalizer, handlers.finalize))
        deleted = [*registration.deleted, *([handlers.deleted] if handlers.deleted is not None else ())]
        called = [handlers.reconcile, *(handler for _, handler in finalizers), *deleted]
        self._calls: HandlerCalls[R] = HandlerCalls(
            registration,
            [handler for handler in called if handler is not None],
            clock,
            lambda key: self.queue.state(key).running_for,
            self._revisit,
        )
        self._pausing: Pausing[R] = Pausing(
            registration.kind,
            environment.pause_annotation,
            self._informer.lister.snapshot,
            shows_condition=environment.statuses.add_controller(registration.kind, registration.name),
        )
        self._finalizers: Finalizers[R] = Finalizers(
            finalizers, environment, self._enqueuer.own_writes, self._calls.call
        )
        self._deletions: DeletionCallbacks[R] = DeletionCallbacks(
            deleted,
            self._records,
            lambda obj, run: self._backend(run.key, obj, run, "deleted"),
            self._calls.call,
            Selection(registration.kind, self._informer, environment.client),
        )
        self._processing: ObjectProcessing[R] = ObjectProcessing(
            handlers.reconcile,
            self._informer.lister.snapshot,
            self._finalizers,
            self._deletions,
            self._calls.call,
            self._backend,
            self._check_former_finalizers,
            self._pausing.clear,
        )
        index_references(registration, self._informer)
        self._handlers: list[HandlerRegistration[Any]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._started = False

    # Lifecycle

    def listen(self) -> None:
        """Adds handlers to the informers. No key is processed yet."""
        registration, caches = self._registration, self._caches
        listen, when = self._handlers.append, registration.when
        name = None if when is None else f"predicate {when} of {registration.name}"
        listen(self._informer.add_handler(self._changed, resync=registration.resync, name=name))
        self._handlers += listen_to_others(registration, caches, self.enqueue)

    def start(self) -> None:
        """Starts the workers and the external triggers. The caches must be in sync."""
        self._started = True
        self._add_workers(len(self._informer.lister) if self._is_daemon else self._registration.concurrency)
        for trigger in self._registration.triggers:
            coroutine = from_trigger(trigger, self._registration.info, self.enqueue, self._environment.clock)
            self._tasks.append(asyncio.create_task(coroutine, name=f"{self.name} trigger"))

    def _add_workers(self, wanted: int) -> None:
        for number in range(len(self._tasks), wanted):
            self._tasks.append(asyncio.create_task(self._work(), name=f"{self.name} worker {number}"))

    async def stop(self, grace: Duration) -> None:
        """Takes no more keys, waits up to `grace` for the running reconciles, then interrupts them."""
        for handler in self._handlers:
            handler.remove()
        self.queue.shutdown(drain=False)
        self._calls.end_daemons()
        if (seconds := check_duration("grace", grace)) > 0:
            timer = self._environment.clock.limit(seconds, self.interrupt)
            try:
                await self.queue.drained()
            finally:
                timer.cancel()
        self.interrupt()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._calls.close()

    def interrupt(self) -> None:
        """Interrupts the running reconciles now. A thread stops at its next call of the context."""
        self.queue.shutdown(drain=False)
        self.stats.interrupted += self._calls.interrupt()
        for task in self._tasks:
            task.cancel()

    def enqueue(
        self,
        key: ObjectKey,
        trigger: str = "external",
        priority: int = 0,
        cause: ObjectKey | None = None,
        change: Change[Any] | None = None,
    ) -> None:
        """Requests a reconcile of this key. `cause` is the other object that changed, if there is one.

        The controller's `priority` function for the object is added to `priority`.
        """
        if self._priority is not None:
            priority += self._priority(key)
        self._enqueuer.add(key, trigger, priority, cause, change)

    # Changes of the kind

    def _changed(self, change: Change[R]) -> None:
        key, when = change.key, self._registration.when
        if self._is_daemon:
            self._update_daemons(change)
        if (turn := self._pausing.see(change)) is not None:
            self._pause_or_resume(key, turn)
            return
        if change.type in ("deleted", "left"):
            if (record := self._records.get(key)) is not None:
                record.finalized = record.undecodable = None
            self._reports.forget(key)
            self._enqueuer.forget(key)
            handles = change.type == "deleted" and (self._processing.by_key or self._deletions)
            if not handles or not passes(when, change):
                self.queue.forget(key)
                return
            self._deletions.add(change)
        elif when is not None and not passes(when, change) and not self._finalizers.must_see(change):
            return
        self.enqueue(key, change.type, priority_of(change), change=change)

    def _pause_or_resume(self, key: ObjectKey, turn: Literal["paused", "resumed"]) -> None:
        """Requeues the key immediately, to show the pause or to reconcile, and forgets its failures."""
        ObjectLogger(self.name, self.info.kind, key).info("%s %s", turn, self._pausing.reason(key))
        self._calls.end_daemons(key)
        self.queue.forget(key)
        self._reports.forget(key)
        self._enqueuer.forget(key)
        self.enqueue(key, turn)

    def _update_daemons(self, change: Change[R]) -> None:
        """Cancels the daemon of an object that is deleted or being deleted, and adds workers: one per object."""
        old, new = change.old, change.new
        if new is None or new.deleting or (old is not None and old.uid != new.uid):
            self._calls.end_daemons(change.key)
        if self._started:
            self._add_workers(len(self._informer.lister))

    # Workers

    async def _work(self) -> None:
        queue, stats, leads, now = self.queue, self.stats, self._environment.leads, self._environment.clock.monotonic
        ending: Ending
        failing = self._reports.failing
        async for key in queue:
            try:
                if leads is not None and not leads():
                    return  # the lease is lost, and this controller is about to be stopped: start nothing
                if key in self._pausing:
                    await self._show_pause(key)
                    continue
                stats.active += 1
                began, (record, causes) = now(), self._enqueuer.start(key)
                run: Reconcile | None = None
                try:
                    run = self._begin(key, record)
                    with run.around():
                        ending = await self._handle(key, record, run)
                        run.ended(ending)
                except BaseException as error:  # from a rate limiter, for example: lose neither the key nor the worker
                    if has_to_pass(error):
                        raise
                    queue.add_after(key, 1.0)
                    run = run or self._begin(key, record, attempt=1)
                    with suppress_logging_errors():
                        message = "cannot schedule the next reconcile; retrying in 1s: %s"
                        self._reports.failed(run, error, message, error_text(error))
                    run.failed(error)
                    ending = "error"
                finally:
                    stats.active -= 1
                ended = now()
                if failing and ending not in _FAILED:
                    self._reports.forget(key)
                    self._enqueuer.succeeded(key)
                if (looped := self._enqueuer.finish(key, record, causes, failed=ending == "error")) is not None:
                    stats.write_loops += 1
                    self._reports.write_loop(run, *looped, is_new=self._enqueuer.loops.should_report(looped[0]))
                if record.revisit_at is not None:
                    self._requeue_for_revisit(key, record, ending)
                stats.reconciles[ending] += 1
                stats.durations.observe(ended - began)
                if _logger.isEnabledFor(logging.DEBUG):  # a line for each reconcile is built only if it is logged
                    with suppress_logging_errors():
                        message = "reconciled in %s: %s; trigger: %s"
                        log_for(run).debug(message, format_duration(ended - began), ending, run.trigger)
                self.history.ended(run, ending, ended=ended, seconds=ended - began, waited=queue.waited(key))
            finally:
                # In this order: changes that arrived during the run are added when the key is no longer running.
                # The queue would requeue a running key without its backoff.
                queue.done(key)
                self._enqueuer.release(key)

    async def _show_pause(self, key: ObjectKey) -> None:
        """Drops the key of a paused object. Neither a reconcile nor a failure is counted."""
        self.stats.active += 1
        try:
            run = self._begin(key, self._enqueuer.start(key)[0], attempt=1)
            backend = self._backend(key, None, run, run.trigger, enqueuer=None)
            shown = await self._pausing.show(backend, self._finalizers.names)
        finally:
            self.stats.active -= 1
        if not shown:
            self.queue.add_rate_limited(key)

    def _begin(self, key: ObjectKey, record: KeyRecord, attempt: int | None = None) -> Reconcile:
        environment, attempt = self._environment, attempt or self.queue.rate_limiter.retries(key) + 1
        trigger, cause = self._enqueuer.take_trigger(record, "initial" if attempt == 1 else "retry")
        return environment.observer.begin(
            environment.rng, self.name, self.info, key, attempt=attempt, trigger=trigger, cause=cause
        )

    async def _handle(self, key: ObjectKey, record: KeyRecord, run: Reconcile) -> Ending:
        """Processes one key, and decides when it is reconciled again."""
        queue = self.queue
        try:
            result = await self._processing.run(key, record, run)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, RetryLater):
                self._enqueuer.note_trigger(key, "requeue")
            return self._retries.after(run, record, error)
        if result is None or result == NOTHING:
            queue.rate_limiter.forget(key)
            return "success"
        if result.delay > 0:
            queue.forget(key)
            self._enqueuer.note_trigger(key, "requeue")
            queue.add_after(key, result.delay, priority=result.priority)
            return "requeue_after"
        queue.add_rate_limited(key, priority=result.priority)
        return "requeue"

    def _check_former_finalizers(self, snapshot: Snapshot[R], run: Reconcile) -> None:
        if (moment := self._reports.former_finalizers(snapshot, run, self._environment.clock)) is not None:
            self._revisit(run.key, moment)

    def _revisit(self, key: ObjectKey, moment: float) -> None:
        """Requeues a running key at a time of the monotonic clock, regardless of the result of its reconcile."""
        record = self._records.ensure(key)
        record.revisit_at = moment if record.revisit_at is None else min(moment, record.revisit_at)

    def _requeue_for_revisit(self, key: ObjectKey, record: KeyRecord, ending: Ending) -> None:
        moment, record.revisit_at = record.revisit_at or 0.0, None
        if ending != "error":  # an error is retried, mostly earlier
            self._enqueuer.note_trigger(key, "requeue")
        self.queue.add_after(key, moment - self._environment.clock.monotonic())

    def _record_event(self, run: Reconcile, reason: str, message: str, action: str) -> None:
        self._backend(run.key, None, run, run.trigger).record(reason, message, "Warning", action)
