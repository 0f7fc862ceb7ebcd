"""`SlowReconciles`: logs reconciles that have been running for many minutes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from logging import Logger, LoggerAdapter
from typing import Protocol

from kubewright.cache import ObjectKey
from kubewright.clock import Clock, Timer
from kubewright.durations import format_age

__all__ = ["RunningReconcile", "SlowReconciles"]

_CHECK_INTERVAL = 60.0
_WARN_INTERVAL = 600.0


class RunningReconcile(Protocol):
    """A reconcile that has not ended."""

    @property
    def key(self) -> ObjectKey:
        """Namespace and name of the object that is being reconciled."""

    @property
    def log(self) -> LoggerAdapter[Logger]:
        """The logger of that object."""


class SlowReconciles:
    """Logs a warning for every ten minutes that a reconcile has been running.

    Checks once a minute, and only while a reconcile runs. One timer serves all of them, so that a reconcile costs
    nothing more.
    """

    def __init__(
        self, clock: Clock, running: Collection[RunningReconcile], running_for: Callable[[ObjectKey], float | None]
    ) -> None:
        self._clock = clock
        self._running = running
        self._running_for = running_for
        self._timer: Timer | None = None

    def start(self) -> None:
        """Starts the timer, if it is not running. Call it when a reconcile starts."""
        if self._timer is None:
            self._timer = self._clock.call_later(_CHECK_INTERVAL, self._check)

    def stop(self) -> None:
        """Stops the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        for reconcile in list(self._running):
            seconds = self._running_for(reconcile.key) or 0.0
            if seconds % _WARN_INTERVAL < _CHECK_INTERVAL and seconds >= _WARN_INTERVAL:
                reconcile.log.warning(
                    "the reconcile has been running for %s, and occupies a worker. The object is not reconciled again"
                    " until it ends. Set timeout= where the controller is registered to bound it",
                    format_age(seconds),
                )
        if self._running:
            self.start()
