"""`until`: how tests wait for other programs, which have no event to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
LIMIT = 200.0
"""Seconds: far more than anything takes, also on a busy machine. Nothing depends on it."""


async def until(check: Callable[[], Awaitable[T | None]], what: str, *, every: float = 0.2) -> T:
    """Checks again and again, and returns the first result that is true."""
    limit = asyncio.timeout(LIMIT)
    try:
        async with limit:
            while True:
                if found := await check():
                    return found
                await asyncio.sleep(every)  # real: another program has no event
    except TimeoutError:
        if not limit.expired():
            raise
        raise AssertionError(f"waited in vain for {what}") from None
