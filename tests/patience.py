"""How long a test waits before it counts as hanging, and how it waits for a condition that no event announces."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

__all__ = ["PATIENCE", "until"]

PATIENCE = 200.0
"""Seconds: below pytest's own limit of 300, so that the test says what it waited for, and far more than anything takes,
also on a machine that is busy or frozen for a while. No assertion about time: nothing may depend on it."""

T = TypeVar("T")


@overload
async def until(check: Callable[[], Awaitable[T | None]], what: str = ..., *, every: float = ...) -> T: ...
@overload
async def until(check: Callable[[], T | None], what: str = ..., *, every: float = ...) -> T: ...
async def until(check: Callable[[], Any], what: str = "", *, every: float = 0.05) -> Any:
    """Checks again and again, and returns the first result that is true.

    For other threads, other processes, the kernel and servers, which have no event to wait for. `what` is for the
    message if it does not happen. Between checks pass at most `every` seconds.
    """
    wait, limit = 0.0005, asyncio.timeout(PATIENCE)
    try:
        async with limit:
            while True:
                found = check()
                if inspect.isawaitable(found):
                    found = await found
                if found:
                    return found
                await asyncio.sleep(wait)  # real: the only polling of the tests
                wait = min(2 * wait, every)
    except TimeoutError:
        if not limit.expired():
            raise
        raise AssertionError(f"waited in vain for {what or inspect.getsource(check).strip()}") from None
