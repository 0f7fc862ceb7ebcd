"""What the work queue promises of keys and their order, one promise for each test."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from kubewright.clock import VirtualClock
from kubewright.queue import LOW_PRIORITY, WorkQueue
from tests.patience import PATIENCE
from tests.queue.conftest import add_all, take, work_off

# One key


@pytest.mark.promise("The queue", "A key that waits twice is handed out once.")
async def test_a_key_that_waits_twice_is_handed_out_once(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("a")
    assert len(queue) == 1
    assert await work_off(queue) == ["a"]


async def test_keys_come_in_the_order_in_which_they_were_first_added(queue: WorkQueue[str]) -> None:
    add_all(queue, "cabac")
    assert await work_off(queue) == ["c", "a", "b"]


async def test_an_empty_queue_gives_back_the_memory_of_the_many_that_were_in_it(queue: WorkQueue[str]) -> None:
    empty = sys.getsizeof(queue._waiting)
    add_all(queue, map(str, range(1_000)))
    assert sys.getsizeof(queue._waiting) > 100 * empty
    for _ in range(1_000):
        queue.done(await queue.get())
    assert sys.getsizeof(queue._waiting) <= empty


@pytest.mark.promise("The queue", "One worker at a time has a key; a key that is added while it runs runs once more.")
async def test_a_running_key_is_not_handed_out_again_until_it_is_done(queue: WorkQueue[str]) -> None:
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    assert await take(queue) is None
    queue.done("a")
    assert await take(queue) == "a"


@pytest.mark.promise("The queue", "One worker at a time has a key; a key that is added while it runs runs once more.")
async def test_a_key_added_many_times_while_running_runs_once_more(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.get()
    for _ in range(5):
        queue.add("a")
    assert len(queue) == 1
    queue.done("a")
    assert await work_off(queue) == ["a"]


async def test_a_key_added_while_running_keeps_the_highest_priority_asked_for(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.get()
    for priority in (1, 7, 3):
        queue.add("a", priority=priority)
    queue.add("b", priority=5)
    queue.done("a")
    assert await work_off(queue) == ["a", "b"]


async def test_key_that_runs_again_is_queued_at_the_end(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add("b")
    queue.done("a")
    assert await work_off(queue) == ["b", "a"]


async def test_done_without_get_raises(queue: WorkQueue[str]) -> None:
    queue.add("a")
    with pytest.raises(ValueError, match=r"work queue 'test': done\('a'\), but no worker has that key"):
        queue.done("a")


async def test_done_twice_is_an_error(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.done(await queue.get())
    with pytest.raises(ValueError, match="no worker has that key"):
        queue.done("a")


# Priorities


@pytest.mark.promise("The queue", "Higher priorities go first, the initial list and resyncs behind what is live.")
async def test_a_higher_priority_goes_first(queue: WorkQueue[str]) -> None:
    queue.add("initial", priority=LOW_PRIORITY)
    queue.add("live")
    queue.add("urgent", priority=10)
    assert await work_off(queue) == ["urgent", "live", "initial"]


@pytest.mark.promise("The queue", "Within a priority the first comes first.")
async def test_within_a_priority_the_first_comes_first(queue: WorkQueue[str]) -> None:
    add_all(queue, "abc", priority=LOW_PRIORITY)
    add_all(queue, "xyz")
    assert await work_off(queue) == list("xyzabc")


async def test_a_waiting_key_is_raised_by_a_higher_priority_and_joins_the_end_of_that_line(
    queue: WorkQueue[str],
) -> None:
    add_all(queue, "abc", priority=LOW_PRIORITY)
    add_all(queue, "xy")
    queue.add("b")
    assert len(queue) == 5
    assert await work_off(queue) == list("xybac")


async def test_a_waiting_key_is_not_lowered(queue: WorkQueue[str]) -> None:
    queue.add("a", priority=5)
    queue.add("b", priority=3)
    queue.add("a", priority=LOW_PRIORITY)
    assert await work_off(queue) == ["a", "b"]


async def test_stale_entry_of_a_raised_key_is_not_used(queue: WorkQueue[str]) -> None:
    add_all(queue, "ab", priority=LOW_PRIORITY)
    queue.add("a")
    queue.done(str(await take(queue)))
    queue.add("a", priority=LOW_PRIORITY)
    assert await work_off(queue) == ["b", "a"]


async def test_many_priorities_keep_their_order(queue: WorkQueue[str]) -> None:
    for priority in [7, -3, 100, 0, 55, 12, -100, 3, 8, 9, 10, 11, 1, 2]:
        queue.add(str(priority), priority=priority)
    assert await work_off(queue) == ["100", "55", "12", "11", "10", "9", "8", "7", "3", "2", "1", "0", "-3", "-100"]


# Rate limits


async def test_retries_wait_twice_as_long_each_time_until_forgotten(queue: WorkQueue[str], clock: VirtualClock) -> None:
    waits = []
    for _ in range(5):
        queue.add_rate_limited("a")
        before = clock.monotonic()
        queue.done(await clock.run(queue.get()))
        waits.append(round(clock.monotonic() - before, 6))
    assert waits == [0.005, 0.01, 0.02, 0.04, 0.08]
    assert queue.retries("a") == 5
    queue.forget("a")
    assert queue.retries("a") == 0
    queue.add_rate_limited("a")
    assert queue.state("a").ready_in == pytest.approx(0.005)


async def test_forgetting_does_not_remove_the_key(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add_rate_limited("a")
    queue.forget("a")
    await clock.advance(1)
    assert await work_off(queue) == ["a"]


# Making


async def test_an_empty_custom_rate_limiter_is_not_replaced_by_the_default() -> None:
    class Falsy:
        def __bool__(self) -> bool:
            return False

        def when(self, key: str) -> float:
            return 1.0

        def forget(self, key: str) -> None: ...

        def retries(self, key: str) -> int:
            return 0

    limiter = Falsy()
    assert WorkQueue[str](rate_limiter=limiter).rate_limiter is limiter


def test_keys_added_before_the_event_loop_starts_are_kept() -> None:
    queue = WorkQueue[str]()
    queue.add("now")
    queue.add_after("soon", 0.001)

    async def both() -> list[str]:
        return [await queue.get(), await queue.get()]

    assert asyncio.run(both()) == ["now", "soon"]


def test_a_delay_from_before_the_event_loop_ends_even_if_the_workers_never_wait() -> None:
    queue = WorkQueue[str]()
    queue.add_after("urgent", 0.001, priority=1)
    queue.add("busy")

    async def work() -> None:
        async with asyncio.timeout(PATIENCE):
            while (key := await queue.get()) != "urgent":
                queue.add(key)
                queue.done(key)

    asyncio.run(work())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_delays_end_in_order_on_real_time(run: Callable[[Coroutine[Any, Any, list[int]]], list[int]]) -> None:
    async def work_off_delays() -> list[int]:
        queue = WorkQueue[int]()
        for number in (3, 0, 4, 1, 2):
            queue.add_after(number, 0.0005 + 0.005 * number)
        return [await queue.get() for _ in range(5)]

    assert run(work_off_delays()) == [0, 1, 2, 3, 4]


def test_a_queue_survives_the_end_of_its_event_loop() -> None:
    queue = WorkQueue[str]()

    async def wait_in_vain() -> None:
        queue.add_after("a", 0.01)
        getting = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        getting.cancel()

    asyncio.run(wait_in_vain())
    assert asyncio.run(queue.get()) == "a"


async def test_repr_shows_counts(queue: WorkQueue[str]) -> None:
    add_all(queue, "abc")
    queue.add_after("d", 5)
    await queue.get()
    assert repr(queue) == "<WorkQueue 'test': 2 ready, 1 delayed, 1 running>"
    queue.shutdown()
    assert repr(queue) == "<WorkQueue 'test': 2 ready, 0 delayed, 1 running, shut down>"
