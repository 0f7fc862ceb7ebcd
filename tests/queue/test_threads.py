"""Adds come from any thread; the rest belongs to the queue's own."""

import asyncio
import functools
import threading
from collections.abc import Callable

import pytest

from kubewright.queue import ExponentialBackoff, WorkQueue


def in_a_thread(work: Callable[[], object]) -> None:
    """Calls it in a thread and waits, while this thread's event loop is blocked."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


async def test_an_add_from_a_thread_wakes_a_waiting_worker() -> None:
    queue = WorkQueue[str]()
    getting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    in_a_thread(lambda: queue.add("a", priority=3))
    assert await getting == "a"
    assert queue.state("a").priority == 3


async def test_delayed_and_rate_limited_adds_come_from_threads_too() -> None:
    queue = WorkQueue[str](rate_limiter=ExponentialBackoff(base=0.001, cap=1))
    getting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    in_a_thread(lambda: queue.add_after("a", 0.0001, priority=1))
    in_a_thread(lambda: queue.add_rate_limited("b"))
    assert {await getting, await queue.get()} == {"a", "b"}
    assert queue.retries("b") == 1


async def test_an_add_from_a_thread_before_any_worker_came_is_kept() -> None:
    queue = WorkQueue[str]()
    in_a_thread(lambda: queue.add("a"))
    assert await queue.get() == "a"


@pytest.mark.promise("The queue", "Threads may add.")
async def test_nothing_is_lost_when_many_threads_add_while_workers_work() -> None:
    queue = WorkQueue[tuple[int, int]]()
    seen: set[tuple[int, int]] = set()

    async def worker() -> None:
        async for key in queue:
            with queue.processing(key):
                await asyncio.sleep(0)
                seen.add(key)
                if len(seen) == 2000:
                    queue.shutdown()

    def feed(thread: int) -> None:
        for number in range(500):
            queue.add((thread, number))

    workers = [asyncio.ensure_future(worker()) for _ in range(4)]
    await asyncio.gather(*(asyncio.to_thread(feed, thread) for thread in range(4)))
    await asyncio.gather(*workers)
    assert seen == {(thread, number) for thread in range(4) for number in range(500)}


async def test_adds_from_a_thread_are_ignored_after_the_shutdown() -> None:
    queue = WorkQueue[str]()
    queue.shutdown()
    in_a_thread(lambda: queue.add("a"))
    await asyncio.sleep(0)
    assert queue.keys() == set()


async def test_failing_add_from_a_thread_is_logged_and_affects_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = WorkQueue[object]("foos")
    for key in ("a", ["not hashable"], "b"):
        in_a_thread(functools.partial(queue.add, key))
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert [record.message.split(">: ")[1] for record in caplog.records] == ["an add from another thread failed"]


async def wait_in_vain(queue: WorkQueue[str]) -> None:
    getting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    getting.cancel()
    await asyncio.wait([getting])


def test_an_add_from_a_thread_after_the_loop_was_closed_waits_for_the_next_loop() -> None:
    queue = WorkQueue[str]()
    asyncio.run(wait_in_vain(queue))
    in_a_thread(lambda: queue.add("a"))
    assert asyncio.run(queue.get()) == "a"


def test_add_to_a_closed_loop_waits_for_the_next_loop() -> None:
    queue = WorkQueue[str]()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(wait_in_vain(queue))
    in_a_thread(lambda: queue.add("a"))
    loop.close()
    assert asyncio.run(queue.get()) == "a"


async def test_waiting_in_the_loop_of_another_thread_is_refused() -> None:
    queue = WorkQueue[str]("foos")
    with pytest.raises(RuntimeError, match=r"<WorkQueue 'foos': .*> belongs to the thread that created it"):
        await asyncio.to_thread(lambda: asyncio.run(queue.get()))


async def test_done_in_another_thread_is_refused() -> None:
    queue = WorkQueue[str]("foos")
    queue.add("a")
    key = await queue.get()
    with pytest.raises(RuntimeError, match=r"belongs to the thread that created it: call done\(\) in"):
        await asyncio.to_thread(queue.done, key)
    queue.done(key)
