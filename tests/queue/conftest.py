"""A queue on a virtual clock, and one worker's view of it."""

import asyncio
from collections.abc import Iterable

import pytest

from kubewright.clock import VirtualClock
from kubewright.queue import WorkQueue


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def queue(clock: VirtualClock) -> WorkQueue[str]:
    return WorkQueue("test", clock=clock)


async def take(queue: WorkQueue[str]) -> str | None:
    """Returns the next key, or None if a worker would have to wait."""
    getting = asyncio.ensure_future(queue.get())
    await VirtualClock().settled()
    if getting.done():
        return getting.result()
    getting.cancel()
    await asyncio.wait([getting])
    return None


async def work_off(queue: WorkQueue[str]) -> list[str]:
    """Returns all ready keys, in the order of one worker."""
    keys = []
    while (key := await take(queue)) is not None:
        keys.append(key)
        queue.done(key)
    return keys


def add_all(queue: WorkQueue[str], keys: Iterable[str], priority: int = 0) -> None:
    for key in keys:
        queue.add(key, priority=priority)
