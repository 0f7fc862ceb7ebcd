"""Regular work of the server: it removes old Events, and compacts old history."""

from __future__ import annotations

from kubewright.clock import Timer
from kubewright.cluster._state import State
from kubewright.cluster.registry._event_ttl import ExpiringEvents
from kubewright.durations import check_duration

__all__ = ["Upkeep"]


class Upkeep:
    """The regular work of a server from `start` to `stop`.

    With `compaction`, an interval in seconds, each compaction discards the history up to the one before, like
    kube-apiserver's: watches and lists can go back one to two intervals.
    """

    def __init__(self, compaction: float | None) -> None:
        self._seconds = None if compaction is None else check_duration("compaction", compaction, zero=False)
        self._events: ExpiringEvents | None = None
        self._timer: Timer | None = None

    def start(self, state: State) -> None:
        """Starts the work."""
        self._events = ExpiringEvents(state)
        self._events.start()
        if self._seconds is not None:
            self._wait(state, self._seconds)

    def stop(self) -> None:
        """Stops the work. Does nothing before `start`."""
        if self._events is not None:
            self._events.stop()
            self._events = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, state: State, seconds: float) -> None:
        revision = state.storage.revision

        def compact() -> None:
            state.storage.compact(revision)
            state.storage.advance()  # kube-apiserver writes the compacted revision to etcd
            self._wait(state, seconds)

        # Deferrable: virtual time must not advance only to reach a compaction.
        self._timer = state.clock.call_later(seconds, compact, deferrable=True)
