"""`Turns`: spreads the work of many requests over turns of the event loop."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

__all__ = ["Turns"]

_BUDGET_SECONDS: Final = 0.01


class Turns:
    """Bounds how much work begins in one turn of the event loop.

    asyncio runs all callbacks that are ready before it polls sockets and timers again. 100 requests of 20 ms that are
    ready together would block everything else for two seconds. Therefore each piece of work waits for `next` first.

    Guarantees: work begins immediately while this turn has used less than `budget` seconds of CPU time and nothing
    waits. Other work begins in later turns, one piece in each, in the order of arrival, urgent pieces first. A piece
    that has begun is not interrupted.

    Args:
        budget: seconds of CPU time of the loop's thread.
        cpu_time: returns the CPU time of the current thread.
    """

    def __init__(self, *, budget: float = _BUDGET_SECONDS, cpu_time: Callable[[], float] = time.thread_time) -> None:
        self._budget = budget
        self._cpu_time = cpu_time
        self._ends: float | None = None  # the CPU time at which the budget of this turn is used up
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def next(self, *, urgent: bool = False) -> None:
        """Returns when the caller may begin its work."""
        if not self._waiting and not self._urgent and self._has_budget():
            return
        turn = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._waiting).append(turn)
        await turn

    def _has_budget(self) -> bool:
        now = self._cpu_time()
        if self._ends is not None:
            return now < self._ends
        self._ends = now + self._budget
        asyncio.get_running_loop().call_soon(self._begin_turn)
        return True

    def _begin_turn(self) -> None:
        self._ends = None
        while self._urgent or self._waiting:
            turn = (self._urgent or self._waiting).popleft()
            if not turn.done():  # not canceled
                turn.set_result(None)
                self._ends = self._cpu_time()  # other work waits until the next turn
                asyncio.get_running_loop().call_soon(self._begin_turn)
                return
