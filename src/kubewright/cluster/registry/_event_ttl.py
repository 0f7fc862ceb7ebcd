"""Removes Events an hour after their last write, as the real server does."""

from __future__ import annotations

from collections import deque
from typing import Final

from kubewright.clock import Timer
from kubewright.cluster._state import State
from kubewright.cluster.storage._storage import Event

__all__ = ["EVENT_SECONDS", "ExpiringEvents"]

EVENT_SECONDS: Final = 3600.0
_STORAGE: Final = "/events"


class ExpiringEvents:
    """Removes each Event an hour after its last write, by the cluster's clock. Events of a snapshot get a new hour.

    Uses one timer, for the oldest write; the others follow in the order of their writes.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._writes: deque[tuple[float, str, str, int]] = deque()
        self._timer: Timer | None = None

    def start(self) -> None:
        """Starts, with the stored Events."""
        self._remember_all()
        self._state.storage.subscribe(_STORAGE, self)
        self._state.restored.append(self._remember_all)

    def _remember_all(self) -> None:
        for entry in self._state.storage.entries(_STORAGE):
            self._remember(entry.namespace, entry.name, entry.revision)

    def stop(self) -> None:
        """Stops removing Events."""
        self._state.storage.unsubscribe(_STORAGE, self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def offer(self, event: Event) -> None:
        """Handles a write."""
        if event.kind != "DELETED":
            self._remember(event.entry.namespace, event.entry.name, event.revision)

    def _remember(self, namespace: str, name: str, revision: int) -> None:
        self._writes.append((self._state.clock.monotonic() + EVENT_SECONDS, namespace, name, revision))
        if self._timer is None:
            self._wait()

    def _wait(self) -> None:
        left = self._writes[0][0] - self._state.clock.monotonic()
        self._timer = self._state.clock.call_later(max(left, 0.0), self._expire)

    def _expire(self) -> None:
        self._timer = None
        storage, now = self._state.storage, self._state.clock.monotonic()
        while self._writes and self._writes[0][0] <= now:
            _, namespace, name, revision = self._writes.popleft()
            found = storage.get(_STORAGE, namespace, name)
            if found is not None and found.revision == revision:  # otherwise it was written again, or deleted
                storage.delete(_STORAGE, found.decode(), found)
        if self._writes:
            self._wait()
