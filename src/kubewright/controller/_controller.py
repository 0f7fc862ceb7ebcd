"""`Controller`: a queue, some workers, and the rules of `_reconcile` about what becomes of a key."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, Final, Generic, NoReturn, TypeVar

from kubewright.api import DecodeError, Object, ResourceInfo
from kubewright.cache import Change, HandlerRegistration, ObjectKey, Snapshot
from kubewright.causes import error_text, raise_cause
from kubewright.client import ApiError, Conflict, Forbidden
from kubewright.clock import Clock
from kubewright.controller._context import BlockingContext, Context
from kubewright.controller._context_backend import ContextBackend
from kubewright.controller._deadline import Deadline
from kubewright.controller._environment import Environment
from kubewright.controller._error_notes import add_fix_note
from kubewright.controller._finalizers import add_finalizer, remove_finalizer
from kubewright.controller._loop_report import loop_message, loop_state
from kubewright.controller._object_logger import ObjectLogger
from kubewright.controller._reconcile import ReconcileTimeout, Result, TerminalError
from kubewright.controller._repeated_errors import RepeatedError, RepeatedErrors
from kubewright.controller._sources import from_owned, from_trigger, from_watched, passes, priority_of
from kubewright.controller._wakes import Wakes
from kubewright.controller._write_loops import Loop, Part, Written
from kubewright.controller.apply import BeingDeleted, Outdated
from kubewright.controller.registration._handlers import Handler
from kubewright.controller.registration._registration import Registration
from kubewright.durations import format_duration
from kubewright.observe import BUGS, ControllerStats, Ending, Inspection, Reconcile, SlowReconciles, inspect
from kubewright.queue import WorkQueue
from kubewright.user_code import THREAD_NAME_PREFIX, being_cancelled, containment, has_to_pass, in_thread, no_exception

__all__ = ["Controller", "ControllerStats", "Ending"]

_logger = logging.getLogger("kubewright.controller")

R = TypeVar("R", bound=Object)

_TOLD_AT_MOST = 1_000
_LONGEST_PAUSE = 1000.0  # seconds: that of the backoff, for servers that ask for more


class Controller(Generic[R]):
    """Reconciles the objects of one kind. The operator makes it, lets it `listen`, and starts it after the caches.

    Promises: see `_reconcile`. `enqueue` may be called from any thread.
    """

    def __init__(self, registration: Registration[R], environment: Environment) -> None:
        handlers = registration.make_handlers()
        self.name = registration.name
        self.kind = registration.kind
        self.stats = ControllerStats()
        self._registration = registration
        self._environment = environment
        self._informer = environment.caches.find(registration.kind, registration.labels)
        self._reconcile = handlers.reconcile
        self._by_key = handlers.reconcile is not None and handlers.reconcile.by_key
        self._when = registration.when
        self._finalizers = list(registration.finalizers)
        if handlers.finalize is not None and registration.class_finalizer is not None:
            self._finalizers.append((registration.class_finalizer, handlers.finalize))
        environment.statuses.add_controller(registration.kind, registration.name)
        environment.former_finalizers.add_known(name for name, _ in self._finalizers)
        self._deleted = [*registration.deleted, *([handlers.deleted] if handlers.deleted is not None else ())]
        self.queue: WorkQueue[ObjectKey] = WorkQueue(
            registration.name, rate_limiter=registration.rate_limiter(), clock=environment.clock
        )
        self.history = environment.observer.history()
        self._repeated_errors = RepeatedErrors()
        self.wakes = Wakes(self.queue, environment.clock, environment.statuses.is_own)
        self._gone: dict[ObjectKey, list[Snapshot[R]]] = {}
        self._finalized: dict[ObjectKey, set[tuple[str, str]]] = {}
        self._look_again: dict[ObjectKey, float] = {}
        self._undecodable: dict[ObjectKey, tuple[str, int, str]] = {}
        self._backend = partial(ContextBackend, environment, registration.kind, registration.info, wakes=self.wakes)
        self._backends: set[ContextBackend[R]] = set()
        self._slow_reconciles = SlowReconciles(
            environment.clock, self._backends, lambda key: self.queue.state(key).running_for
        )
        self._handlers: list[HandlerRegistration[Any]] = []
        self._tasks: list[asyncio.Task[None]] = []
        forms = [self._reconcile, *(form for _, form in self._finalizers), *self._deleted]
        self._executor: ThreadPoolExecutor | None = None
        if any(form is not None and form.blocking for form in forms):
            self._executor = ThreadPoolExecutor(
                registration.concurrency, thread_name_prefix=f"{THREAD_NAME_PREFIX}{registration.name}"
            )

    # Life

    def listen(self) -> None:
        """Put handlers on the informers. Nothing is worked on yet."""
        registration, caches = self._registration, self._environment.caches
        listen = self._handlers.append
        name = None if self._when is None else f"predicate {self._when} of {registration.name}"
        listen(self._informer.add_handler(self._changed, resync=registration.resync, name=name))
        for owns in registration.owns:
            handler = from_owned(owns, registration.info, self.enqueue)
            name = None if owns.when is None else f"predicate {owns.when} of Owns({owns.kind.__name__})"
            listen(caches.find(owns.kind, owns.labels).add_handler(handler, name=name))
        for watch in registration.watches:
            handler = from_watched(watch, caches, self.enqueue)
            predicate = "" if watch.when is None else f"predicate {watch.when} or "
            name = f"{predicate}map function {watch.map_name} of Watch({watch.kind.__name__})"
            listen(caches.find(watch.kind, watch.labels).add_handler(handler, name=name))

    def start(self) -> None:
        """Start the workers and the external triggers. The caches must be in sync."""
        for number in range(self._registration.concurrency):
            self._tasks.append(asyncio.create_task(self._work(), name=f"{self.name} worker {number}"))
        for trigger in self._registration.triggers:
            coroutine = from_trigger(trigger, self._registration.info, self.enqueue, self._environment.clock)
            self._tasks.append(asyncio.create_task(coroutine, name=f"{self.name} trigger"))

    async def stop(self, grace: float) -> None:
        """Take no more keys, let the running reconciles finish for so many seconds, then interrupt them."""
        for handler in self._handlers:
            handler.remove()
        self.queue.shutdown(drain=False)
        if grace > 0:
            patience = self._environment.clock.limit(grace, self.interrupt)
            try:
                await self.queue.drained()
            finally:
                patience.cancel()
        self.interrupt()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._slow_reconciles.stop()
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    def interrupt(self) -> None:
        """End the running reconciles now; a thread meets this at its next call of the context."""
        self.queue.shutdown(drain=False)
        for backend in list(self._backends):
            self.stats.interrupted += 1
            backend.log.warning("the reconcile is interrupted, because the operator is stopping")
            backend.stop(TerminalError("the operator is stopping"))
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
        """Ask for a reconcile of this key. `cause` is the other object that it is because of, if there is one."""
        self.wakes.add(key, trigger, priority, cause, change)

    def object_keys(self) -> list[ObjectKey]:
        """The keys of the objects that the cache has."""
        return self._informer.lister.keys()

    @property
    def idle(self) -> bool:
        """Whether nothing is ready or running; keys that are to come back later do not count."""
        return not len(self.queue) and not self.stats.active

    # Looking

    @property
    def info(self) -> ResourceInfo:
        """The kind that is reconciled."""
        return self._registration.info

    @property
    def owns(self) -> list[ResourceInfo]:
        """The kinds whose objects wake their owner."""
        return [owns.info for owns in self._registration.owns]

    @property
    def concurrency(self) -> int:
        """How many reconciles may run at a time."""
        return self._registration.concurrency

    @property
    def clock(self) -> Clock:
        """The time that the history and the queue go by."""
        return self._environment.clock

    def snapshot(self, key: ObjectKey) -> Snapshot[R] | None:
        """The object as the cache has it."""
        return self._informer.lister.snapshot(key)

    @property
    def resync_in(self) -> float | None:
        """Seconds until every object is reconciled again; None without a resync."""
        return self._handlers[0].resync_in if self._handlers else None

    def pending(self, key: ObjectKey) -> tuple[str, ObjectKey | None] | None:
        """What has woken a key that waits, and which object it was."""
        return self.wakes.pending(key)

    def write_loop(self, key: ObjectKey) -> str:
        """The loop that the key is slowed down for, in a line; empty for most."""
        loop = self.wakes.loops.of(key)
        return "" if loop is None else loop_state(loop)

    def inspect(self, key: ObjectKey) -> Inspection:
        """All that is known about an object: what woke it, where it is in the queue, how its last reconciles went."""
        return inspect(self, key)

    # What the informer of the kind says

    def _changed(self, change: Change[R]) -> None:
        key = change.key
        if change.type == "deleted":
            self._finalized.pop(key, None)
            self._repeated_errors.forget(key)
            self.wakes.forget(key)
            if not self._wants_deletion(change):
                self.queue.forget(key)
                return
        elif self._when is not None and not passes(self._when, change) and not self._starts_deletion(change):
            return
        self.enqueue(key, change.type, priority_of(change), change=change)

    def _starts_deletion(self, change: Change[R]) -> bool:
        """No predicate may hide that an object waits for its finalizers."""
        old, new = change.old, change.new
        return bool(self._finalizers) and new is not None and new.deleting and (old is None or not old.deleting)

    def _wants_deletion(self, change: Change[R]) -> bool:
        if not (self._by_key or self._deleted) or not passes(self._when, change):
            return False
        if self._deleted and change.old is not None:
            self._gone.setdefault(change.key, []).append(change.old)
        return True

    # Workers

    async def _work(self) -> None:
        queue, stats, leads, now = self.queue, self.stats, self._environment.leads, self._environment.clock.monotonic
        ending: Ending
        async for key in queue:
            try:
                if leads is not None and not leads():
                    return  # the lease is lost, and nobody may have told us yet: begin nothing
                stats.active += 1
                began, causes = now(), self.wakes.begin(key)
                run: Reconcile | None = None
                try:
                    run = self._begin(key)
                    with run.around():
                        ending = await self._handle(key, run)
                        run.ended(ending)
                except BaseException as error:  # of a rate limiter, say: neither key nor worker may be lost for it
                    if has_to_pass(error):
                        raise
                    queue.add_after(key, 1.0)
                    run = run or self._begin(key, attempt=1)
                    with _whatever_loggers_do():
                        text = "what becomes of the key could not be decided; retrying in 1s: %s"
                        self._log_failure(run, error, text, error_text(error))
                    run.failed(error)
                    ending = "error"
                finally:
                    stats.active -= 1
                ended = now()
                if self._repeated_errors and ending not in _FAILED:
                    self._repeated_errors.forget(key)
                    self.wakes.succeeded(key)
                if (looped := self.wakes.end(key, causes, failed=ending == "error")) is not None:
                    self._slow_down(run, *looped)
                if self._look_again:
                    self._come_back(key, ending)
                stats.reconciles[ending] += 1
                stats.durations.observe(ended - began)
                if _logger.isEnabledFor(logging.DEBUG):  # a line for each reconcile is made only if somebody reads it
                    text = "reconciled in %s: %s; trigger: %s"
                    with _whatever_loggers_do():
                        self._log(run).debug(text, format_duration(ended - began), ending, run.trigger)
                self.history.ended(run, ending, ended=ended, seconds=ended - began, waited=queue.waited(key))
            finally:
                self.wakes.release(key)
                queue.done(key)

    def _begin(self, key: ObjectKey, attempt: int | None = None) -> Reconcile:
        environment, attempt = self._environment, attempt or self.queue.rate_limiter.retries(key) + 1
        trigger, cause = self.wakes.take(key, "initial" if attempt == 1 else "retry")
        return environment.observer.begin(
            environment.rng,
            self.name,
            self._registration.info,
            key,
            attempt=attempt,
            trigger=trigger,
            cause=cause,
        )

    async def _handle(self, key: ObjectKey, run: Reconcile) -> Ending:
        """Work on one key, and decide what becomes of it."""
        queue = self.queue
        try:
            result = await self._process(key, run)
        except TerminalError as error:
            run.failed(error)
            queue.forget(key)
            self._log_failure(run, error, "reconcile failed for good, until the object changes: %s", error)
            return "terminal_error"
        except _Undecodable as found:
            run.failed(found.error)
            queue.forget(key)
            self._tell_undecodable(run, found)
            return "terminal_error"
        except (Conflict, Outdated, BeingDeleted) as error:
            return self._again_quietly(run, error)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and being_cancelled():
                raise  # the worker itself was cancelled, not something that the reconciler waited for
            if isinstance(error, Forbidden) and error.namespace_is_going:
                return self._again_quietly(run, error)  # its objects go as well, this one among them
            add_fix_note(error)
            run.failed(error)
            if self._was_deposed(error):
                queue.forget(key)  # the next leader lists everything anew
                self._log(run).warning("the reconcile ends unfinished: %s", error)
                return "error"
            self._count_failure(error)
            attempt = queue.retries(key) + 1
            self._back_off(key, error)
            text = "reconcile failed, attempt %d, retrying %s: %s"
            self._log_failure(run, error, text, attempt, self._due(key), error_text(error))
            return "error"
        if result is None or result == _NOTHING:
            queue.rate_limiter.forget(key)
            return "success"
        if result.delay > 0:
            queue.forget(key)
            self.wakes.note_trigger(key, "requeue")
            queue.add_after(key, result.delay)
            return "requeue_after"
        queue.add_rate_limited(key)
        return "requeue"

    def _look_again_at(self, key: ObjectKey, moment: float) -> None:
        """Let a key that is being worked on come back, by the monotonic clock, whatever its reconcile asks for."""
        self._look_again[key] = min(moment, self._look_again.get(key, moment))

    def _come_back(self, key: ObjectKey, ending: Ending) -> None:
        moment = self._look_again.pop(key, None)
        if moment is None:
            return
        if ending != "error":  # which comes back as a retry, mostly earlier
            self.wakes.note_trigger(key, "requeue")
        self.queue.add_after(key, moment - self._environment.clock.monotonic())

    def _was_deposed(self, error: BaseException) -> bool:
        """Whether a write was refused because this replica has ceased to lead."""
        leads = self._environment.leads
        if leads is None:
            return False
        from kubewright.election import NotLeader

        return isinstance(error, NotLeader) and not leads()

    def _again_quietly(self, run: Reconcile, error: Exception) -> Ending:
        """Back off after what happens in every cluster: one line in the log, and no traceback."""
        run.failed(error)
        self._back_off(run.key, error)
        self._log(run).info("%s; retrying %s", error, self._due(run.key))
        return "error"

    def _back_off(self, key: ObjectKey, error: BaseException) -> None:
        """Let the key come back after its backoff, and no earlier than the server asks for."""
        asked = error.retry_after if isinstance(error, ApiError) else None
        if asked is None:
            self.queue.add_rate_limited(key)
        else:
            self.queue.add_after(key, max(self.queue.rate_limiter.when(key), min(asked, _LONGEST_PAUSE)))

    def _count_failure(self, error: BaseException) -> None:
        if isinstance(error, ReconcileTimeout):
            self.stats.timeouts += 1
        elif isinstance(error, BUGS):
            self.stats.bugs += 1

    async def _process(self, key: ObjectKey, run: Reconcile, *, tell: bool = True) -> Result | None:
        """Tell of the end of earlier objects of this name, then see to the one that is there.

        One in deletion is finalized; for others we make sure of the finalizers, and reconcile.
        """
        if tell and self._gone and (failure := await self._tell_deleted(key, run)) is not None:
            await self._process_despite(failure, key, run)
        snapshot = self._informer.lister.snapshot(key)
        if snapshot is None and not self._by_key:
            return None
        if snapshot is not None and snapshot.deleting:
            self._tell_former_finalizers(snapshot, run)
        obj: R | None = None
        if snapshot is not None and (self._finalizers or not self._by_key):
            obj = _decoded(snapshot)
            if self._undecodable:
                self._undecodable.pop(key, None)
        backend = self._backend(key, obj, run, run.trigger)
        if obj is not None and obj.metadata.deletion_timestamp is not None:
            result = await self._finalize(backend, obj)
            if not self._by_key or result is not None:
                return result
        elif obj is not None and self._finalizers:
            self._finalized.pop(key, None)  # it lives, perhaps again, from a backup: what was done for it is to be done
            for name, _ in self._finalizers:
                before = obj.metadata.resource_version
                obj = backend.object = await add_finalizer(self._environment, obj, name)
                if obj.metadata.resource_version != before:
                    self.wakes.own.note(obj, key)  # the reconciler is called with it next
        if self._reconcile is None:
            return None
        if self._by_key:
            backend.object = None
        return await self._call(self._reconcile, backend)

    async def _finalize(self, backend: ContextBackend[R], obj: R) -> Result | None:
        """Call the finalizers that the object still has, one after the other; None when all of them are done."""
        done = self._finalized.setdefault(backend.key, set()) if self._finalizers else set()
        uid = obj.metadata.uid
        for name, form in self._finalizers:
            if name not in obj.metadata.finalizers:
                continue
            # Not twice because the finalizer could not be taken off, or the cache has not heard yet that it is off.
            if (uid, name) not in done:
                result = await self._call(form, backend)
                if result is not None and result != _NOTHING:
                    return result  # not finished yet: the finalizer stays, and the key comes back
                done.add((uid, name))
            if (left := await remove_finalizer(self._environment, backend.primary(), name)) is not None:
                backend.saw(left)
        return None

    async def _tell_deleted(self, key: ObjectKey, run: Reconcile) -> Exception | None:
        """Call the `deleted` callbacks for each object of this name that went; what went wrong first is returned.

        One that fails is called again, unless for good.
        """
        failure: Exception | None = None
        while gone := self._gone.get(key):
            try:
                obj = _decoded(gone[0])
                backend = self._backend(key, obj, run, "deleted")
                for form in self._deleted:
                    await self._call(form, backend)
            except _FOR_GOOD as error:
                failure = failure or error
            except Exception as error:
                return error
            self._forget_gone(key)
        return failure

    async def _process_despite(self, failure: Exception, key: ObjectKey, run: Reconcile) -> NoReturn:
        """See to the object that is there, although its predecessor's end could not be told; then raise why.

        It has nothing to do with that, and must not wait until another system is well again.
        """
        try:
            await self._process(key, run, tell=False)
        except _FOR_GOOD as error:
            raise (error if isinstance(failure, _FOR_GOOD) else failure) from error
        raise failure

    def _forget_gone(self, key: ObjectKey) -> None:
        gone = self._gone[key]
        gone.pop(0)
        if not gone:
            del self._gone[key]

    async def _call(self, form: Handler, backend: ContextBackend[R]) -> Result | None:
        """Call a function of the user, within the time it has, and write the conditions it has set."""
        self._backends.add(backend)
        self._slow_reconciles.start()
        backend.ended = False
        try:
            timeout = self._registration.timeout
            if timeout is None:
                result = await self._invoked(form, backend)
            else:
                with Deadline(backend, timeout, blocking=form.blocking), containment:
                    result = await self._invoked(form, backend)
        except BaseException as error:
            if has_to_pass(error):
                raise
            backend.ended = True
            await self._flush_after(error, backend)
            raise_cause(error)  # of a task group that failed with one error: that error decides what happens
            if isinstance(error, Exception):
                raise
            raise no_exception(error) from error
        finally:
            backend.ended = True
            self._backends.discard(backend)
            if backend.paused_until is not None:
                self._look_again_at(backend.key, backend.paused_until)
        backend.check()
        if backend.conditions:
            await backend.flush()
        if result is not None and not isinstance(result, Result):
            raise TerminalError(f"{form.name} must return a Result or None, but returned {result!r}")
        return result

    async def _flush_after(self, error: BaseException, backend: ContextBackend[R]) -> None:
        """Write the conditions of a reconcile that failed. What made it fail is what must be told.

        But after a `TerminalError` nobody would write them later: then it is this that failed, and the key comes back.
        """
        try:
            await backend.flush()
        except Exception as unwritten:
            if isinstance(error, TerminalError):
                raise unwritten from error

    def _invoked(self, form: Handler, backend: ContextBackend[R]) -> Awaitable[Any]:
        # To be awaited by who calls it, and not in here: a coroutine more for each reconcile would be felt.
        subject: Any = backend.key if form.by_key else backend.object
        if form.blocking:
            return self._in_thread(form.function, subject, backend)
        called: Awaitable[Any] = form.function(subject, Context(backend))
        return called

    async def _in_thread(self, function: Callable[..., Any], subject: Any, backend: ContextBackend[R]) -> Any:
        """Call a plain function in a thread, which holds the clock, except while it waits for its context."""
        assert self._executor is not None
        work = f"the plain reconciler of {backend.info.kind} {backend.key}"
        with self._environment.clock.hold(work, backend):
            return await in_thread(self._executor, copy_context().run, function, subject, BlockingContext(backend))

    # Telling

    def _log(self, run: Reconcile) -> ObjectLogger:
        return ObjectLogger(self.name, run.info.kind, run.key, run)

    def _log_failure(self, run: Reconcile, error: BaseException, text: str, *values: object) -> None:
        """A line with the traceback for an error that is new, and without for one that has come again."""
        times = self._repeated_errors.again(run.key, error)
        if not times:
            self._log(run).error(text, *values, exc_info=error)
            return
        text, count = f"{text} (%s more since its traceback)", "once" if times == 1 else f"{times} times"
        self._log(run).error(text, *values, count, extra={"repeated": RepeatedError(error_text(error), times)})

    def _due(self, key: ObjectKey) -> str:
        """When the key is reconciled again: after its backoff, or at a resync that comes earlier."""
        delay = self.queue.state(key).ready_in
        if delay is None:
            return "now"
        due = f"in {format_duration(delay)}"
        resync = self.resync_in
        return f"{due}, or at the resync in {format_duration(resync)}" if resync is not None and resync < delay else due

    def _slow_down(self, run: Reconcile, loop: Loop, writes: dict[Part, Written]) -> None:
        """Count and report a key that keeps waking itself."""
        self.stats.write_loops += 1
        news = self.wakes.loops.is_news(loop)
        message = loop_message(loop, writes)
        with _whatever_loggers_do():
            self._log(run).log(logging.WARNING if news else logging.DEBUG, "%s", message)
        if news:
            with contextlib.suppress(Exception):  # an event never fails anything
                self._backend(run.key, None, run, run.trigger).record("WriteLoop", message, "Warning", "Reconcile")

    def _tell_former_finalizers(self, snapshot: Snapshot[R], run: Reconcile) -> None:
        clock = self._environment.clock
        names, wait = self._environment.former_finalizers.check(snapshot, clock.now())
        if wait:
            self._look_again_at(run.key, clock.monotonic() + wait)
        for name in names:
            self._log(run).warning(
                "being deleted for more than ten minutes, it waits for the finalizer %s, which no controller of this"
                " operator calls. If it is another operator's, look at that one. If it is the former name of one of"
                " this operator's, nobody takes it off: register what it stands for, with finalizes(%s, name=%r), or"
                " take it off by hand",
                name,
                self.kind.__name__,
                name,
            )

    def _tell_undecodable(self, run: Reconcile, found: _Undecodable) -> None:
        """Say it once for each generation of the object: a resync, or a status that somebody writes, is no news."""
        error, snapshot = found.error, found.snapshot
        what = f"{error.path}: {error.reason}"
        message = f"The object does not fit its model: {what}" if error.path else str(error)
        state = (snapshot.uid, snapshot.generation or snapshot.resource_version, message)
        news = self._undecodable.get(run.key) != state
        if len(self._undecodable) >= _TOLD_AT_MOST:
            self._undecodable.clear()
        self._undecodable[run.key] = state
        self._log(run).log(logging.ERROR if news else logging.DEBUG, "%s; it is left alone until it changes", message)
        backend = self._backend(run.key, None, run, run.trigger)
        with contextlib.suppress(Exception):  # an event never fails anything
            backend.record("DecodeFailed", message, "Warning", "Decode")


class _Undecodable(Exception):
    """The object of the key does not fit its model; other objects that the reconciler reads are its own business."""

    def __init__(self, snapshot: Snapshot[Any], error: DecodeError) -> None:
        super().__init__(str(error))
        self.snapshot = snapshot
        self.error = error


_FOR_GOOD = (TerminalError, _Undecodable)


def _decoded(snapshot: Snapshot[R]) -> R:
    try:
        return snapshot.object()
    except DecodeError as error:
        raise _Undecodable(snapshot, error) from error


@contextlib.contextmanager
def _whatever_loggers_do() -> Iterator[None]:
    """No worker is lost for a handler or a filter that raises: what it raised goes where logging puts such things."""
    try:
        yield
    except Exception:
        traceback.print_exc()


_NOTHING = Result()
_FAILED: Final[frozenset[Ending]] = frozenset({"error", "terminal_error"})
