"""Delays of the work queue: on a virtual clock."""

import asyncio

import pytest

from kubewright.clock import VirtualClock
from kubewright.queue import LOW_PRIORITY, WorkQueue
from tests.queue.conftest import take, work_off


async def test_a_delayed_key_is_ready_at_its_time_and_not_before(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add_after("a", 10)
    assert len(queue) == 0
    await clock.advance(9.999)
    assert await take(queue) is None
    await clock.advance(0.001)
    assert await work_off(queue) == ["a"]


async def test_a_waiting_worker_is_woken_when_a_delay_ends(queue: WorkQueue[str], clock: VirtualClock) -> None:
    getting = asyncio.ensure_future(queue.get())
    await clock.settled()
    queue.add_after("a", 3600)
    assert await clock.run(getting) == "a"
    assert clock.monotonic() == 3600


async def test_no_delay_means_now(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0)
    queue.add_after("b", -1)
    assert await work_off(queue) == ["a", "b"]
    assert queue.stats().retries == 0


@pytest.mark.promise("The queue", "Of two delays the earlier counts.")
@pytest.mark.parametrize("delays", [(10, 60), (60, 10)])
async def test_of_two_delays_the_earlier_counts(
    queue: WorkQueue[str], clock: VirtualClock, delays: tuple[float, float]
) -> None:
    for seconds in delays:
        queue.add_after("a", seconds)
    await clock.advance(10)
    assert await work_off(queue) == ["a"]
    await clock.advance(100)
    assert await work_off(queue) == []


@pytest.mark.promise("The queue", "Of two delays the earlier counts.")
async def test_an_add_without_delay_beats_a_delayed_one(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add_after("a", 10)
    queue.add("a")
    assert await work_off(queue) == ["a"]
    await clock.advance(100)
    assert await work_off(queue) == []


async def test_a_ready_key_is_not_delayed(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add("a")
    queue.add_after("a", 10)
    assert await work_off(queue) == ["a"]
    await clock.advance(100)
    assert await work_off(queue) == []


async def test_delay_that_ends_during_a_run_causes_another_run(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add("a")
    await queue.get()
    queue.add_after("a", 10)
    await clock.advance(20)
    assert await take(queue) is None
    queue.done("a")
    assert await work_off(queue) == ["a"]


async def test_delay_continues_after_the_run(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add("a")
    await queue.get()
    queue.add_after("a", 10)
    await clock.advance(5)
    queue.done("a")
    assert await take(queue) is None
    await clock.advance(5)
    assert await work_off(queue) == ["a"]


async def test_delayed_keys_line_up_by_priority_then_by_time(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add_after("late", 3)
    queue.add_after("early", 1)
    queue.add_after("urgent", 2, priority=1)
    await clock.advance(5)
    assert await work_off(queue) == ["urgent", "early", "late"]


@pytest.mark.parametrize("second", ["now", "sooner", "later"])
async def test_a_delayed_key_keeps_the_highest_priority_asked_for(
    queue: WorkQueue[str], clock: VirtualClock, second: str
) -> None:
    queue.add_after("a", 10, priority=5)
    match second:
        case "now":
            queue.add("a")
        case "sooner":
            queue.add_after("a", 1)
        case "later":
            queue.add_after("a", 100)
    assert queue.state("a").priority == 5
    queue.add_after("a", 1000, priority=9)
    assert queue.state("a").priority == 9
    await clock.advance(10)
    assert await work_off(queue) == ["a"]


async def test_a_key_added_again_by_its_worker_keeps_its_priority(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add("a", priority=LOW_PRIORITY)
    queue.add("b", priority=7)
    for key in (await queue.get(), await queue.get()):
        queue.add_rate_limited(key)
        queue.done(key)
    assert queue.state("a").priority == LOW_PRIORITY
    assert queue.state("b").priority == 7


async def test_a_delay_that_was_cut_short_does_not_end_the_next_one(queue: WorkQueue[str], clock: VirtualClock) -> None:
    for other in "bc":
        queue.add_after(other, 10)  # due together with the first delay of "a", and before it
    queue.add_after("a", 10)
    queue.add("a")
    queue.done(await queue.get())
    queue.add_after("a", 100)
    await clock.advance(10)
    assert await work_off(queue) == ["b", "c"]
    await clock.advance(90)
    assert await work_off(queue) == ["a"]


async def test_all_delays_share_one_timer(queue: WorkQueue[str], clock: VirtualClock) -> None:
    for number in range(100):
        queue.add_after(str(number), 1 + number)
    assert len([timer for *_, timer in clock._timers if not timer.is_over]) == 1


async def test_a_long_delay_cut_short_again_and_again_does_not_pile_up(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    queue.add_after("first", 10)
    for _ in range(10_000):
        queue.add_after("a", 36_000)
        queue.add("a")
        queue.done(await queue.get())
    assert len(queue._delays._heap) < 200
    assert len([timer for *_, timer in clock._timers if not timer.is_over]) == 1


async def test_a_key_raised_again_and_again_does_not_pile_up_in_a_line_that_never_moves(
    queue: WorkQueue[str],
) -> None:
    queue.add("never", priority=LOW_PRIORITY)
    for _ in range(10_000):
        queue.add("a", priority=LOW_PRIORITY)
        queue.add("a")
        queue.done(await queue.get())
    assert len(queue._lines._by_priority[LOW_PRIORITY]) < 50
    assert await work_off(queue) == ["never"]


async def test_priorities_that_are_no_longer_used_do_not_pile_up(queue: WorkQueue[str]) -> None:
    for priority in range(1000):
        queue.add("a", priority=priority)
        queue.add("b", priority=-priority)
        assert await work_off(queue) == ["a", "b"]
    assert len(queue._lines._lines) < 20
