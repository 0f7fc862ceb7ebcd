"""`FailureReports`: logs failed reconciles, and other problems of objects."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from kubewright.cache import ObjectKey, Snapshot
from kubewright.causes import error_text
from kubewright.clock import Clock
from kubewright.controller._decoding import Undecodable
from kubewright.controller._failure_events import FailureEvents, failure_message
from kubewright.controller._key_records import KeyRecord
from kubewright.controller._loop_report import loop_message
from kubewright.controller._object_logger import ObjectLogger
from kubewright.controller._reconcile import RetryLater
from kubewright.controller._repeated_errors import RepeatedError, RepeatedErrors
from kubewright.controller._write_loops import Loop, Part, Written
from kubewright.durations import format_duration
from kubewright.observe import FormerFinalizers, Reconcile
from kubewright.redaction import as_text, one_line

__all__ = ["FailureReports", "due", "log_for", "suppress_logging_errors"]


class FailureReports:
    """Logs and records the problems of one controller's objects.

    `record_event` records an event about the reconciled object: reason, message and action. `failure_events` decides
    which failures are events; None for none.
    """

    def __init__(
        self,
        former_finalizers: FormerFinalizers,
        record_event: Callable[[Reconcile, str, str, str], None],
        failure_events: FailureEvents | None = None,
    ) -> None:
        self._former_finalizers = former_finalizers
        self._record_event = record_event
        self._events = failure_events
        self._errors = RepeatedErrors()
        self.failing = self._errors.failing
        """The keys that fail; empty in most controllers."""

    def forget(self, key: ObjectKey) -> None:
        """Drops the failures of a key that no longer fails, or whose object is gone."""
        self._errors.forget(key)
        if self._events is not None:
            self._events.forget(key)

    def failed(self, run: Reconcile, error: BaseException, message: str, *values: object) -> None:
        """Logs a failure: with the traceback if the error is new, and without it if it is repeated.

        A new reason is also recorded as an event on the object, if failure events are enabled.
        """
        if self._events is not None:
            with contextlib.suppress(Exception):  # an event never fails a reconcile
                self._events.failed(run, error)
        times = self._errors.again(run.key, error)
        if not times:
            log_for(run).error(message, *values, exc_info=error)
            return
        message, count = f"{message} (%s more since its traceback)", "once" if times == 1 else f"{times} times"
        log_for(run).error(message, *values, count, extra={"repeated": RepeatedError(error_text(error), times)})

    def retry_later(self, run: Reconcile, error: RetryLater, when: str) -> None:
        """Logs that a reconcile waits for something, in one line; also as an event if the error asks for it."""
        log_for(run).warning("%s; retrying %s", one_line(as_text(error)), when)
        if error.event:
            self._event(run, "RetryLater", failure_message(error), "Reconcile")

    def write_loop(self, run: Reconcile, loop: Loop, writes: dict[Part, Written], *, is_new: bool) -> None:
        """Reports a key that keeps triggering itself."""
        message = loop_message(loop, writes)
        with suppress_logging_errors():
            log_for(run).log(logging.WARNING if is_new else logging.DEBUG, "%s", message)
        if is_new:
            self._event(run, "WriteLoop", message, "Reconcile")

    def undecodable(self, run: Reconcile, found: Undecodable, record: KeyRecord) -> None:
        """Reports an object that does not fit its model, once per generation."""
        error, snapshot = found.error, found.snapshot
        message = f"The object does not fit its model: {error.path}: {error.reason}" if error.path else str(error)
        state = (snapshot.uid, snapshot.generation or snapshot.resource_version, message)
        is_new, record.undecodable = record.undecodable != state, state
        level = logging.ERROR if is_new else logging.DEBUG
        log_for(run).log(level, "%s; it is not reconciled until it changes", message)
        self._event(run, "DecodeFailed", message, "Decode")

    def former_finalizers(self, snapshot: Snapshot[Any], run: Reconcile, clock: Clock) -> float | None:
        """Warns about finalizers that nothing removes. Returns the time at which to check again, if any."""
        names, wait = self._former_finalizers.check(snapshot, clock.now())
        for name in names:
            log_for(run).warning(
                "being deleted for more than ten minutes, waiting for the finalizer %s, which no controller of this"
                " operator handles. If it belongs to another operator, check that one. If it is the former name of one"
                " of this operator's finalizers, nothing removes it: register its handler with finalizes(%s, name=%r),"
                " or remove it manually",
                name,
                snapshot.kind.__name__,
                name,
            )
        return clock.monotonic() + wait if wait else None

    def _event(self, run: Reconcile, reason: str, message: str, action: str) -> None:
        with contextlib.suppress(Exception):  # an event never fails a reconcile
            self._record_event(run, reason, message, action)


def log_for(run: Reconcile) -> ObjectLogger:
    """Returns the logger of the reconciled object."""
    return ObjectLogger(run.controller, run.info.kind, run.key, run)


def due(ready_in: float | None, resync_in: float | None) -> str:
    """Returns when a key is reconciled again: after its backoff, or at a resync that comes earlier."""
    if ready_in is None:
        return "now"
    message = f"in {format_duration(ready_in)}"
    if resync_in is None or resync_in >= ready_in:
        return message
    return f"{message}, or at the resync in {format_duration(resync_in)}"


@contextlib.contextmanager
def suppress_logging_errors() -> Iterator[None]:
    """Prints errors of log handlers and filters, as logging does. No worker may be lost because of them."""
    try:
        yield
    except Exception:
        traceback.print_exc()
