"""Workers of the work queue, and how they are sent home."""

import asyncio

import pytest

from kubewright.clock import VirtualClock
from kubewright.queue import QueueShutDown, WorkQueue
from tests.queue.conftest import add_all, take

# Workers


async def test_a_worker_waits_until_there_is_a_key(queue: WorkQueue[str], clock: VirtualClock) -> None:
    getting = asyncio.ensure_future(queue.get())
    await clock.settled()
    assert not getting.done()
    queue.add("a")
    assert await getting == "a"


async def test_each_key_wakes_one_worker(queue: WorkQueue[str], clock: VirtualClock) -> None:
    workers = [asyncio.ensure_future(queue.get()) for _ in range(3)]
    await clock.settled()
    add_all(queue, "ab")
    await clock.settled()
    assert sorted(worker.result() for worker in workers if worker.done()) == ["a", "b"]
    queue.add("c")
    await clock.settled()
    assert all(worker.done() for worker in workers)


async def test_a_cancelled_get_takes_nothing(queue: WorkQueue[str], clock: VirtualClock) -> None:
    getting = asyncio.ensure_future(queue.get())
    await clock.settled()
    getting.cancel()
    await clock.settled()
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
    await clock.settled()
    queue.add("a")  # wakes the first ...
    first.cancel()  # ... which is cancelled before it runs
    await clock.settled()
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


@pytest.mark.promise("The queue", "A shutdown drains what is ready, or drops it.")
async def test_draining_hands_out_ready_keys_and_then_ends(queue: WorkQueue[str]) -> None:
    add_all(queue, "ab")
    queue.shutdown()
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_draining_drops_delayed_keys(queue: WorkQueue[str], clock: VirtualClock) -> None:
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


async def test_draining_runs_keys_again_that_were_added_while_running(
    queue: WorkQueue[str], clock: VirtualClock
) -> None:
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.shutdown()
    idle = asyncio.ensure_future(queue.get())  # waits: the key will be ready again
    await clock.settled()
    assert not idle.done()
    queue.done("a")
    assert await idle == "a"


@pytest.mark.promise("The queue", "A shutdown drains what is ready, or drops it.")
async def test_shutdown_without_draining_drops_waiting_keys(queue: WorkQueue[str]) -> None:
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
    await clock.settled()
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
    await clock.settled()
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
        await clock.settled()
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


async def test_idle_queue_is_drained_immediately(queue: WorkQueue[str]) -> None:
    queue.shutdown()
    await queue.drained()
