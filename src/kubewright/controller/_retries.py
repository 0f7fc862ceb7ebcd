"""`Retries`: decides when a key is retried after its reconcile raised, and reports it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kubewright.cache import ObjectKey
from kubewright.causes import error_text
from kubewright.client import ApiError, Conflict, Forbidden, NotFound
from kubewright.controller._decoding import Undecodable
from kubewright.controller._error_notes import add_fix_note
from kubewright.controller._failure_reports import FailureReports, due, log_for
from kubewright.controller._key_records import KeyRecord
from kubewright.controller._reconcile import ReconcileTimeout, RetryLater, TerminalError
from kubewright.controller.apply import BeingDeleted, Outdated
from kubewright.observe import BUGS, ControllerStats, Ending, Reconcile
from kubewright.queue import WorkQueue
from kubewright.user_code import being_cancelled

__all__ = ["Retries"]

_LONGEST_RETRY_AFTER: Final = 1000.0
"""Seconds. A server's Retry-After is honored up to this limit, which is the longest backoff."""


class Retries:
    """Retries the keys of one controller.

    `resync_in` returns the seconds until the next resync, if there is one. A key that ran for `reset_after` seconds or
    more starts with the shortest backoff.
    """

    def __init__(
        self,
        queue: WorkQueue[ObjectKey],
        stats: ControllerStats,
        reports: FailureReports,
        leads: Callable[[], bool] | None,
        resync_in: Callable[[], float | None],
        reset_after: float | None = None,
    ) -> None:
        self._queue = queue
        self._stats = stats
        self._reports = reports
        self._leads = leads
        self._resync_in = resync_in
        self._reset_after = reset_after

    def after(self, run: Reconcile, record: KeyRecord, error: BaseException) -> Ending:
        """Retries the key as the error demands, and reports it. Raises the cancellation of the worker itself."""
        key, queue = run.key, self._queue
        if isinstance(error, RetryLater):
            return self._later(run, error)
        if isinstance(error, TerminalError):
            run.failed(error)
            queue.forget(key)
            self._reports.failed(run, error, "reconcile failed, not retried until the object changes: %s", error)
            return "terminal_error"
        if isinstance(error, Undecodable):
            run.failed(error.error)
            queue.forget(key)
            self._reports.undecodable(run, error, record)
            return "terminal_error"
        if isinstance(error, Conflict | Outdated | BeingDeleted):
            self._quietly_after(run, error)
            return "error"
        if self._reset_after is not None and (queue.state(key).running_for or 0.0) >= self._reset_after:
            queue.forget(key)
        self._after_failure(run, error)
        return "error"

    def _after_failure(self, run: Reconcile, error: BaseException) -> None:
        """Backs off, and reports the error unless it is common in every cluster."""
        if isinstance(error, asyncio.CancelledError) and being_cancelled():
            raise error  # the worker itself is canceled, not a task that the reconciler awaited
        if isinstance(error, Forbidden) and error.namespace_is_going:
            self._quietly_after(run, error)  # the namespace is deleted with all of its objects
            return
        if isinstance(error, NotFound) and self._is_deleted(run, error):
            self._quietly_after(run, error)  # it was deleted during its reconcile
            return
        add_fix_note(error)
        run.failed(error)
        key, queue = run.key, self._queue
        if self._lost_leadership(error):
            queue.forget(key)  # the next leader lists everything again
            log_for(run).warning("reconcile interrupted, because this replica no longer leads: %s", error)
            return
        if isinstance(error, ReconcileTimeout):
            self._stats.timeouts += 1
        elif isinstance(error, BUGS):
            self._stats.bugs += 1
        attempt = queue.retries(key) + 1
        self._back_off(key, error)
        message = "reconcile failed, attempt %d, retrying %s: %s"
        self._reports.failed(run, error, message, attempt, self._due(key), error_text(error))

    def _quietly_after(self, run: Reconcile, error: Exception) -> None:
        """Backs off after an error that is common in every cluster: one line in the log, and no traceback."""
        run.failed(error)
        self._back_off(run.key, error)
        log_for(run).info("%s; retrying %s", error, self._due(run.key))

    def _later(self, run: Reconcile, error: RetryLater) -> Ending:
        """Requeues the key as a `RetryLater` asks for, and reports it."""
        key, queue = run.key, self._queue
        run.failed(error)
        if error.after:
            queue.forget(key)
            queue.add_after(key, error.after)
        else:
            queue.add_rate_limited(key)
        self._reports.retry_later(run, error, self._due(key))
        return "requeue_after" if error.after else "requeue"

    def _back_off(self, key: ObjectKey, error: BaseException) -> None:
        """Retries the key after its backoff, and not before the server's Retry-After."""
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        if retry_after is None:
            self._queue.add_rate_limited(key)
        else:
            delay = max(self._queue.rate_limiter.when(key), min(retry_after, _LONGEST_RETRY_AFTER))
            self._queue.add_after(key, delay)

    def _due(self, key: ObjectKey) -> str:
        return due(self._queue.state(key).ready_in, self._resync_in())

    def _is_deleted(self, run: Reconcile, error: NotFound) -> bool:
        """Returns whether the missing object is the one that was reconciled."""
        details = error.status.details
        return details is not None and (details.name, details.kind) == (run.key.name, run.info.plural)

    def _lost_leadership(self, error: BaseException) -> bool:
        """Returns whether a write was refused because this replica is not the leader any more."""
        if self._leads is None:
            return False
        from kubewright.election import NotLeader  # only operators that elect a leader import the room

        return isinstance(error, NotLeader) and not self._leads()
