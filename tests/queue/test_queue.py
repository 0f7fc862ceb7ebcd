"""What the work queue promises, one promise for each test."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import pytest
import uvloop

from kubewright.clock import VirtualClock
from kubewright.queue import LOW_PRIORITY, QueueShutDown, WorkQueue


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def queue(clock: VirtualClock) -> WorkQueue[str]:
    return WorkQueue("test", clock=clock)


async def take(queue: WorkQueue[str]) -> str | None:
    """The next key, or None when a worker would have to wait."""
    getting = asyncio.ensure_future(queue.get())
    await VirtualClock().settle()
    if getting.done():
        return getting.result()
    getting.cancel()
    await asyncio.wait([getting])
    return None


async def work_off(queue: WorkQueue[str]) -> list[str]:
    """Everything that is ready, in the order of one worker."""
    keys = []
    while (key := await take(queue)) is not None:
        keys.append(key)
        queue.done(key)
    return keys


def add_all(queue: WorkQueue[str], keys: Iterable[str], priority: int = 0) -> None:
    for key in keys:
        queue.add(key, priority=priority)


# One key


async def test_a_key_that_waits_twice_is_handed_out_once(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("a")
    assert len(queue) == 1
    assert await work_off(queue) == ["a"]


async def test_keys_come_in_the_order_in_which_they_were_first_added(queue: WorkQueue[str]) -> None:
    add_all(queue, "cabac")
    assert await work_off(queue) == ["c", "a", "b"]


async def test_a_running_key_is_not_handed_out_again_until_it_is_done(queue: WorkQueue[str]) -> None:
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    assert await take(queue) is None
    queue.done("a")
    assert await take(queue) == "a"


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


async def test_a_key_that_runs_again_stands_behind_those_that_came_before_its_end(queue: WorkQueue[str]) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.add("b")
    queue.done("a")
    assert await work_off(queue) == ["b", "a"]


async def test_done_without_get_is_an_error_that_says_so(queue: WorkQueue[str]) -> None:
    queue.add("a")
    with pytest.raises(ValueError, match=r"work queue 'test': done\('a'\), but no worker has that key"):
        queue.done("a")


async def test_done_twice_is_an_error(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.done(await queue.get())
    with pytest.raises(ValueError, match="no worker has that key"):
        queue.done("a")


# Priorities


async def test_a_higher_priority_goes_first(queue: WorkQueue[str]) -> None:
    queue.add("initial", priority=LOW_PRIORITY)
    queue.add("live")
    queue.add("urgent", priority=10)
    assert await work_off(queue) == ["urgent", "live", "initial"]


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


async def test_the_place_that_a_raised_key_left_is_not_used_when_it_comes_back(queue: WorkQueue[str]) -> None:
    add_all(queue, "ab", priority=LOW_PRIORITY)
    queue.add("a")
    queue.done(str(await take(queue)))
    queue.add("a", priority=LOW_PRIORITY)
    assert await work_off(queue) == ["b", "a"]


async def test_many_priorities_keep_their_order(queue: WorkQueue[str]) -> None:
    for priority in [7, -3, 100, 0, 55, 12, -100, 3, 8, 9, 10, 11, 1, 2]:
        queue.add(str(priority), priority=priority)
    assert await work_off(queue) == ["100", "55", "12", "11", "10", "9", "8", "7", "3", "2", "1", "0", "-3", "-100"]


# Delays


async def test_a_delayed_key_is_ready_at_its_time_and_not_before(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add_after("a", 10)
    assert len(queue) == 0
    await clock.advance(9.999)
    assert await take(queue) is None
    await clock.advance(0.001)
    assert await work_off(queue) == ["a"]


async def test_a_waiting_worker_is_woken_when_a_delay_ends(queue: WorkQueue[str], clock: VirtualClock) -> None:
    getting = asyncio.ensure_future(queue.get())
    await clock.settle()
    queue.add_after("a", 3600)
    assert await clock.run(getting) == "a"
    assert clock.monotonic() == 3600


async def test_no_delay_means_now(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0)
    queue.add_after("b", -1)
    assert await work_off(queue) == ["a", "b"]
    assert queue.stats().retries == 0


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


async def test_a_delay_that_ends_while_the_key_runs_lets_it_run_once_more(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    queue.add("a")
    await queue.get()
    queue.add_after("a", 10)
    await clock.advance(20)
    assert await take(queue) is None
    queue.done("a")
    assert await work_off(queue) == ["a"]


async def test_a_delay_goes_on_when_the_run_ends_first(queue: WorkQueue[str], clock: VirtualClock) -> None:
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
    assert len([timer for *_, timer in clock._timers if timer.callback is not None]) == 1


async def test_a_long_delay_cut_short_again_and_again_does_not_pile_up(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    queue.add_after("first", 10)
    for _ in range(10_000):
        queue.add_after("a", 36_000)
        queue.add("a")
        queue.done(await queue.get())
    assert len(queue._delays._heap) < 200
    assert len([timer for *_, timer in clock._timers if timer.callback is not None]) == 1


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


# Workers


async def test_a_worker_waits_until_there_is_a_key(queue: WorkQueue[str], clock: VirtualClock) -> None:
    getting = asyncio.ensure_future(queue.get())
    await clock.settle()
    assert not getting.done()
    queue.add("a")
    assert await getting == "a"


async def test_each_key_wakes_one_worker(queue: WorkQueue[str], clock: VirtualClock) -> None:
    workers = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await clock.settle()
    add_all(queue, "ab")
    await clock.settle()
    assert sorted(worker.result() for worker in workers if worker.done()) == ["a", "b"]
    queue.add("c")
    await clock.settle()
    assert all(worker.done() for worker in workers)


async def test_a_cancelled_get_takes_nothing(queue: WorkQueue[str], clock: VirtualClock) -> None:
    getting = asyncio.ensure_future(queue.get())
    await clock.settle()
    getting.cancel()
    await clock.settle()
    queue.add("a")
    assert await take(queue) == "a"


async def test_workers_that_gave_up_waiting_leave_nothing_behind(queue: WorkQueue[str], clock: VirtualClock) -> None:
    for _ in range(100):
        assert await take(queue) is None
    assert len(queue._getters) == 0


async def test_a_get_cancelled_in_the_moment_of_waking_passes_the_key_on(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    first, second = asyncio.ensure_future(queue.get()), asyncio.ensure_future(queue.get())
    await clock.settle()
    queue.add("a")  # wakes the first ...
    first.cancel()  # ... which is cancelled before it runs
    await clock.settle()
    assert first.cancelled()
    assert second.done()
    assert second.result() == "a"


async def test_a_get_with_a_time_out_loses_no_key(queue: WorkQueue[str], clock: VirtualClock) -> None:
    for _ in range(100):
        getting = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        getting.cancel()
        await asyncio.wait([getting])
        key = getting.result() if not getting.cancelled() else await take(queue)
        assert key == "a"
        queue.done(key)


async def test_workers_that_never_wait_let_other_tasks_run(queue: WorkQueue[str]) -> None:
    add_all(queue, map(str, range(1000)))
    turns = 0

    async def bystander() -> None:
        nonlocal turns
        while len(queue):
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(bystander())
    for _ in range(1000):
        queue.done(await queue.get())
    await task
    assert turns >= 20


async def test_processing_is_done_with_the_key_even_if_the_work_raises(queue: WorkQueue[str]) -> None:
    queue.add("a")
    with pytest.raises(ZeroDivisionError), queue.processing(await queue.get()) as key:
        assert key == "a"
        assert queue.state("a").running_for is not None
        1 / 0  # noqa: B018
    assert not queue.state("a").known


async def test_a_worker_loop_ends_with_the_shutdown(queue: WorkQueue[str]) -> None:
    add_all(queue, "abc")
    worked = []

    async def worker() -> None:
        async for key in queue:
            with queue.processing(key):
                await asyncio.sleep(0)
                worked.append(key)

    workers = [asyncio.ensure_future(worker()) for _ in range(2)]
    queue.shutdown()
    await asyncio.gather(*workers)
    assert sorted(worked) == ["a", "b", "c"]


# Shutting down


async def test_after_a_shutdown_nothing_is_accepted(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.shutdown()
    queue.add("a")
    queue.add_after("b", 1)
    queue.add_rate_limited("c")
    await clock.advance(10)
    assert queue.keys() == set()
    assert queue.retries("c") == 0
    with pytest.raises(QueueShutDown, match="work queue 'test' was shut down"):
        await queue.get()


async def test_draining_hands_out_what_is_ready_and_then_ends(queue: WorkQueue[str]) -> None:
    add_all(queue, "ab")
    queue.shutdown()
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_draining_drops_what_is_delayed(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add_after("a", 1)
    queue.shutdown()
    assert clock.next_timer is None
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_draining_ignores_adds_of_running_and_waiting_keys(queue: WorkQueue[str]) -> None:
    add_all(queue, "ab")
    await queue.get()
    queue.shutdown()
    queue.add("a")
    queue.add("b", priority=5)
    queue.done("a")
    assert queue.state("b").priority == 0
    assert await work_off_until_shutdown(queue) == ["b"]


async def work_off_until_shutdown(queue: WorkQueue[str]) -> list[str]:
    keys = []
    async for key in queue:
        keys.append(key)
        queue.done(key)
    return keys


async def test_draining_still_runs_once_more_what_was_added_while_running(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.shutdown()
    idle = asyncio.ensure_future(queue.get())  # waits: the key will be ready again
    await clock.settle()
    assert not idle.done()
    queue.done("a")
    assert await idle == "a"


async def test_a_shutdown_without_draining_drops_what_waits(queue: WorkQueue[str]) -> None:
    add_all(queue, "ab")
    assert await queue.get() == "a"
    queue.add("a")
    queue.shutdown(drain=False)
    assert queue.keys() == {"a"}  # running, and not interrupted
    queue.done("a")
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_a_drain_can_be_cut_short(queue: WorkQueue[str]) -> None:
    add_all(queue, "ab")
    queue.shutdown()
    queue.shutdown(drain=False)
    await queue.drained()
    with pytest.raises(QueueShutDown):
        await queue.get()


@pytest.mark.parametrize("drain", [True, False])
async def test_a_shutdown_wakes_every_waiting_worker(queue: WorkQueue[str], clock: VirtualClock, drain: bool) -> None:
    workers = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await clock.settle()
    queue.shutdown(drain=drain)
    for worker in workers:
        with pytest.raises(QueueShutDown):
            await worker


async def test_the_last_key_of_a_drain_sends_the_other_workers_home(queue: WorkQueue[str], clock: VirtualClock) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.shutdown()
    first, second = asyncio.ensure_future(queue.get()), asyncio.ensure_future(queue.get())
    await clock.settle()
    queue.done("a")
    assert await first == "a"
    with pytest.raises(QueueShutDown):
        await second


async def test_drained_waits_for_the_shutdown_the_waiting_and_the_running(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    add_all(queue, "ab")
    drained = asyncio.ensure_future(queue.drained())

    async def is_drained() -> bool:
        await clock.settle()
        return drained.done()

    assert not queue.shutting_down
    queue.shutdown()
    assert queue.shutting_down
    assert not await is_drained()
    queue.done(await queue.get())
    await queue.get()
    assert not await is_drained()
    queue.done("b")
    assert await is_drained()


async def test_an_idle_queue_is_drained_at_once(queue: WorkQueue[str]) -> None:
    queue.shutdown()
    await queue.drained()


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


def test_what_is_added_before_the_event_loop_starts_is_there_when_it_runs() -> None:
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
        async with asyncio.timeout(30):
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


async def test_the_repr_says_how_much_there_is(queue: WorkQueue[str]) -> None:
    add_all(queue, "abc")
    queue.add_after("d", 5)
    await queue.get()
    assert repr(queue) == "<WorkQueue 'test': 2 ready, 1 delayed, 1 running>"
    queue.shutdown()
    assert repr(queue) == "<WorkQueue 'test': 2 ready, 0 delayed, 1 running, shut down>"
