"""A virtual clock for tests of time limits on threads and processes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext

from kubewright.clock import Timer, VirtualClock


class UnheldClock(VirtualClock):
    """Moves although work outside the event loop runs, so that a test of its limit need not wait in real time."""

    def limit(self, seconds: float, callback: Callable[[], object]) -> Timer:
        return self.call_later(seconds, callback)

    def hold(self, work: str, name: Hashable | None = None) -> AbstractContextManager[object]:
        return nullcontext()
