"""Write conflicts: two clients set the same fields of one object to different values, each overwriting the other.

Each write triggers the other client, so both would write indefinitely, as fast as the server allows. `WriteConflicts`
counts how often the same content had to be restored. After five restores it pauses further ones: for ten seconds, then
twice as long each time. Content that changes is never paused.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from kubewright.api import Object
from kubewright.cache import ObjectKey
from kubewright.clock import Clock
from kubewright.controller.apply._errors import Competitors, WriteConflict
from kubewright.lru import LRUMemory

__all__ = ["ConflictState", "KindKey", "WriteConflicts"]

KindKey: TypeAlias = tuple[type[Object], ObjectKey]

_MAX_RESTORES: Final = 5
_WINDOW: Final = 600.0
_FIRST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 1000.0
_REPORT_INTERVAL: Final = 3600.0
_REMEMBERED: Final = 10_000


class ConflictState(msgspec.Struct):
    """The history of content that had to be restored."""

    requested: bytes
    until: float
    """The end of the pause, or the time of the first restore while there is no pause."""
    restores: int = 0
    reported_at: float | None = None
    competitors: Competitors | None = None


class WriteConflicts:
    """Counts restores by object and writer, and pauses them. Remembers 10,000 objects, the most recently used ones."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._states: LRUMemory[tuple[KindKey, str], ConflictState] = LRUMemory(_REMEMBERED)

    def paused(self, target: KindKey, writer: str, requested: bytes) -> ConflictState | None:
        """Returns the conflict that pauses writes of this content now; None if it may be written."""
        if not len(self._states):
            return None
        state = self._states.get((target, writer))
        if state is None or state.requested != requested or state.restores < _MAX_RESTORES:
            return None
        return state if self._now() < state.until else None

    def restored(self, target: KindKey, writer: str, requested: bytes) -> None:
        """Records that overwritten content was written again."""
        now, state = self._now(), self._states.get((target, writer))
        if state is None or state.requested != requested or now > state.until + _WINDOW:
            state = ConflictState(requested, until=now, reported_at=state.reported_at if state is not None else None)
            self._states.put((target, writer), state)
        state.restores += 1
        state.competitors = None  # the next conflict may have other competitors
        if state.restores >= _MAX_RESTORES:
            state.until = now + min(_FIRST_PAUSE * 2 ** (state.restores - _MAX_RESTORES), _LONGEST_PAUSE)

    def error(self, state: ConflictState, existing: Object, competitors: Competitors) -> WriteConflict:
        """Returns the error to raise during the pause."""
        now = self._now()
        should_report = state.reported_at is None or now - state.reported_at >= _REPORT_INTERVAL
        if should_report:
            state.reported_at = now
        state.competitors = competitors
        return WriteConflict(
            existing,
            competitors,
            times=state.restores,
            retry_after=state.until - now,
            should_report=should_report,
        )
