"""`WorkBudget`: bounds the work of a controller or a request between two turns of the event loop."""

from __future__ import annotations

import asyncio
from typing import Final

__all__ = ["PROCESSED", "SCANNED", "WorkBudget"]

SCANNED: Final = 1
"""The cost of an object that is only looked at."""
PROCESSED: Final = 8
"""The cost of an object that is decoded, and possibly written."""
_BUDGET: Final = 128


class WorkBudget:
    """Counts the cost of work items and yields to the event loop whenever a turn's budget is spent.

    A turn processes at most 16 objects, or looks at 128. Other requests are served in between, so callers must
    expect that objects change at each `spend`.
    """

    def __init__(self) -> None:
        self._spent = 0

    async def spend(self, cost: int) -> None:
        """Adds the cost of a finished work item. Yields if the budget is spent."""
        self._spent += cost
        if self._spent >= _BUDGET:
            self._spent = 0
            await asyncio.sleep(0)
