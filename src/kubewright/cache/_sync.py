"""`Synced`: a state that is reached once, and the tasks that wait for it."""

from __future__ import annotations

import asyncio

from kubewright.clock import Clock, TimeLimitExceeded, within

__all__ = ["Synced"]


class Synced:
    """False until `set` is called. Tasks of several event loops may wait for it, one loop after the other."""

    def __init__(self) -> None:
        self._reached = False
        self._waiting: dict[asyncio.Future[None], None] = {}  # in order, so that runs are reproducible

    def __bool__(self) -> bool:
        return self._reached

    def set(self) -> None:
        """Wakes the tasks that wait."""
        self._reached = True
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, clock: Clock, timeout: float) -> bool:
        """Waits for at most that many seconds. Returns whether the state was reached."""
        if not self._reached:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[future] = None
            try:
                await within(clock, timeout, future)
            except TimeLimitExceeded:
                pass
            finally:
                self._waiting.pop(future, None)
        return self._reached
