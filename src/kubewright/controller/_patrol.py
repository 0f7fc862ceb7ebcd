"""`Patrol`: tells in the log of reconciles that do not end. Otherwise only their objects would show it, by silence."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from kubewright.cache import ObjectKey
from kubewright.clock import Clock, Timer
from kubewright.controller._session import Session
from kubewright.durations import format_age

__all__ = ["Patrol"]

_EVERY = 60.0
_LONG = 600.0


class Patrol:
    """Looks each minute, while something runs, for what has been running for ten minutes, and again ten later.

    One timer for all of them: a reconcile costs nothing more.
    """

    def __init__(
        self, clock: Clock, sessions: Collection[Session[Any]], running_for: Callable[[ObjectKey], float | None]
    ) -> None:
        self._clock = clock
        self._sessions = sessions
        self._running_for = running_for
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Something runs now."""
        if self._timer is None:
            self._timer = self._clock.call_later(_EVERY, self._look)

    def end(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        for session in list(self._sessions):
            seconds = self._running_for(session.key) or 0.0
            if seconds % _LONG < _EVERY and seconds >= _LONG:
                text = "the reconcile has been running for %s, and keeps a worker and the object from all others"
                session.log.warning(text, format_age(seconds))
        if self._sessions:
            self.begin()
