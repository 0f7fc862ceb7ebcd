"""A timeout for one reconcile, on the injected clock; for a thread also in real time, because it holds that clock."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from kubewright.clock import CancelScope, Timer
from kubewright.controller._context_backend import ContextBackend
from kubewright.controller._reconcile import ReconcileTimeout
from kubewright.durations import format_duration

__all__ = ["Deadline"]


class Deadline:
    """`with Deadline(backend, seconds)`: after the timeout, stops the backend and cancels the task.

    A thread cannot be interrupted. With `blocking` the task keeps waiting for it, because a key must not be reconciled
    twice at the same time. The thread's next call of its context raises the timeout.
    """

    def __init__(self, backend: ContextBackend[Any], seconds: float, *, blocking: bool) -> None:
        self._backend = backend
        self._error = ReconcileTimeout(
            f"the reconcile of {backend.info.kind} {backend.key} took more than {format_duration(seconds)}"
        )
        self._seconds = seconds
        self._blocking = blocking
        self._timer: Timer | None = None
        self._scope = CancelScope()

    def __enter__(self) -> Self:
        self._scope.__enter__()
        clock = self._backend.environment.clock
        self._timer = (clock.limit if self._blocking else clock.call_later)(self._seconds, self._expire)
        return self

    def _expire(self) -> None:
        self._backend.stop(self._error)
        if self._blocking:
            # The thread may never return. Then only this line explains why its worker is occupied.
            self._backend.log.warning(
                "%s; it runs in a thread, which cannot be interrupted and occupies a worker until it returns",
                self._error,
            )
        else:
            self._scope.cancel(self._error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timer is not None
        self._timer.cancel()
        self._scope.__exit__(kind, error, trace)
