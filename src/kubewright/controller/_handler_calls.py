"""`HandlerCalls`: calls the user's handlers, within their timeout, in the event loop or in a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import FrameType
from typing import Any, Generic, TypeVar

from kubewright.api import Object
from kubewright.cache import ObjectKey
from kubewright.causes import raise_cause
from kubewright.clock import CancelScope, Clock
from kubewright.controller._context import BlockingContext, Context
from kubewright.controller._context_backend import ContextBackend
from kubewright.controller._daemons import DaemonEnded
from kubewright.controller._deadline import Deadline
from kubewright.controller._reconcile import Result, TerminalError
from kubewright.controller.registration import Handler, Registration
from kubewright.observe import SlowReconciles
from kubewright.user_code import THREAD_NAME_PREFIX, containment, has_to_pass, in_thread, no_exception

__all__ = ["HandlerCalls", "handler_in"]

R = TypeVar("R", bound=Object)


def handler_in(frame: FrameType | None) -> str:
    """Returns the handler that a stack is in, and its object: `sync of Site shop/a`. Empty if it is in none.

    Unlike a record of each call, reading the stack costs nothing until there is a problem to report.
    """
    while frame is not None:
        if frame.f_code is HandlerCalls.call.__code__:
            handler, backend = frame.f_locals["handler"], frame.f_locals["backend"]
            return f"{handler.name} of {backend.info.kind} {backend.key}"
        frame = frame.f_back
    return ""


class HandlerCalls(Generic[R]):
    """Calls the handlers of one controller, and tracks the running calls.

    `revisit` requeues a key at a time of the monotonic clock, when the pause of its writes ends.
    """

    def __init__(
        self,
        registration: Registration[R],
        handlers: Iterable[Handler],
        clock: Clock,
        running_for: Callable[[ObjectKey], float | None],
        revisit: Callable[[ObjectKey, float], None],
    ) -> None:
        self.running: set[ContextBackend[R]] = set()
        self._timeout = registration.timeout
        self._is_daemon = registration.role == "daemon"
        self._scopes: dict[ContextBackend[R], CancelScope] = {}
        self._clock = clock
        self._revisit = revisit
        self._slow_reconciles = SlowReconciles(clock, self.running, running_for)
        self._executor: ThreadPoolExecutor | None = None
        if any(handler.blocking for handler in handlers):
            self._executor = ThreadPoolExecutor(
                registration.concurrency, thread_name_prefix=f"{THREAD_NAME_PREFIX}{registration.name}"
            )

    def interrupt(self) -> int:
        """Stops the running calls, and returns their number. A thread stops at its next call of the context."""
        running = list(self.running)
        for backend in running:
            backend.log.warning("the reconcile is interrupted, because the operator is stopping")
            backend.stop(TerminalError("the operator is stopping"))
        return len(running)

    def end_daemons(self, key: ObjectKey | None = None) -> None:
        """Cancels the daemon of a key; without a key, all of them."""
        for backend, scope in list(self._scopes.items()):
            if key is None or backend.key == key:
                scope.cancel(DaemonEnded())

    async def _until_cancelled(self, handler: Handler, backend: ContextBackend[R]) -> Result | None:
        scope = self._scopes[backend] = CancelScope()
        try:
            with scope, containment:
                result: Result | None = await self._invoked(handler, backend)
                return result
        except DaemonEnded:
            return None
        finally:
            del self._scopes[backend]

    def close(self) -> None:
        """Releases the timer and the threads."""
        self._slow_reconciles.stop()
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    async def call(self, handler: Handler, backend: ContextBackend[R]) -> Result | None:
        """Calls a handler, and writes the conditions that it has set."""
        self.running.add(backend)
        if not self._is_daemon:
            self._slow_reconciles.start()
        backend.ended = False
        try:
            if self._is_daemon:
                result = await self._until_cancelled(handler, backend)
            elif self._timeout is None:
                result = await self._invoked(handler, backend)
            else:
                with Deadline(backend, self._timeout, blocking=handler.blocking), containment:
                    result = await self._invoked(handler, backend)
        except BaseException as error:
            if has_to_pass(error):
                raise
            backend.ended = True
            await self._flush_after(error, backend)
            raise_cause(error)  # a task group that failed with one error counts as that error
            if isinstance(error, Exception):
                raise
            raise no_exception(error) from error
        finally:
            backend.ended = True
            self.running.discard(backend)
            if backend.paused_until is not None:
                self._revisit(backend.key, backend.paused_until)
        backend.check()
        if backend.conditions:
            await backend.flush()
        if backend.children is not None:
            backend.warn_about_leftovers()
        if result is not None and not isinstance(result, Result):
            raise TerminalError(f"{handler.name} must return a Result or None, but returned {result!r}")
        return result

    async def _flush_after(self, error: BaseException, backend: ContextBackend[R]) -> None:
        """Writes the conditions of a failed reconcile. The original error is the one to report.

        After a `TerminalError` no retry would write them. So if the write fails, that failure counts, and the key is
        retried.
        """
        try:
            await backend.flush()
        except Exception as unwritten:
            if isinstance(error, TerminalError):
                raise unwritten from error

    def _invoked(self, handler: Handler, backend: ContextBackend[R]) -> Awaitable[Any]:
        # The caller awaits the result: one more coroutine for each reconcile would be measurable.
        subject: Any = backend.key if handler.by_key else backend.object
        if handler.blocking:
            return self._in_thread(handler.function, subject, backend)
        called: Awaitable[Any] = handler.function(subject, Context(backend))
        return called

    async def _in_thread(self, function: Callable[..., Any], subject: Any, backend: ContextBackend[R]) -> Any:
        """Calls a plain function in a thread. The thread holds the clock, except while it waits for its context."""
        assert self._executor is not None
        work = f"the plain reconciler of {backend.info.kind} {backend.key}"
        with self._clock.hold(work, backend):
            return await in_thread(self._executor, copy_context().run, function, subject, BlockingContext(backend))
