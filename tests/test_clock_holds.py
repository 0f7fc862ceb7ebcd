"""Work outside the event loop holds virtual time: the rule in `kubewright.clock`."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from pathlib import Path

import pytest

import kubewright
from kubewright.clock import SystemClock, VirtualClock
from tests.patience import PATIENCE


async def test_advance_waits_for_work_that_holds_the_clock() -> None:
    clock, fired, release = VirtualClock(), [], threading.Event()
    clock.call_later(5, lambda: fired.append(clock.monotonic()))

    async def work() -> float:
        with clock.hold("a thread"):
            await asyncio.to_thread(release.wait, PATIENCE)
            return clock.monotonic()

    working = asyncio.create_task(work())
    advancing = asyncio.create_task(clock.advance(10))
    while clock.held_by != ["a thread"]:  # noqa: ASYNC110 - it begins in the next round
        await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    assert (fired, clock.monotonic()) == ([], 0)
    release.set()
    await advancing
    assert await working == 0
    assert fired == [5]


async def test_timer_that_starts_outside_work_is_waited_for_before_the_next_timer() -> None:
    clock, ended = VirtualClock(), list[float]()

    async def work() -> None:
        with clock.hold("a thread"):
            await asyncio.to_thread(time.sleep, 0)
        ended.append(clock.monotonic())

    tasks = []
    for second in range(1, 6):
        clock.call_later(second, lambda: tasks.append(asyncio.ensure_future(work())))
    await clock.advance(60)
    assert ended == [1, 2, 3, 4, 5]


async def test_run_waits_for_outside_work_although_no_timer_is_set() -> None:
    clock = VirtualClock()

    async def work() -> str:
        with clock.hold("a thread"):
            await asyncio.to_thread(time.sleep, 0)
        return "done"

    assert await clock.run(work()) == "done"


async def test_work_that_waits_for_the_event_loop_does_not_hold_the_clock() -> None:
    clock = VirtualClock()

    async def served() -> None:
        with clock.serving("call"):
            await clock.sleep(30)

    async def caller() -> float:
        with clock.hold("a call", "call"):
            await served()
            assert clock.held_by == ["a call"]
            return clock.monotonic()

    assert await clock.run(caller()) == 30
    assert clock.held_by == []


async def test_foreign_code_holds_the_clock_except_while_it_sleeps() -> None:
    clock, elapsed = VirtualClock(), list[float]()

    async def handler() -> None:
        with clock.serving("call", foreign=True):
            await asyncio.to_thread(time.sleep, 0)  # it calls a service
            elapsed.append(clock.monotonic())
            await asyncio.gather(clock.sleep(5), clock.sleep(7))
            elapsed.append(clock.monotonic())
            await asyncio.to_thread(time.sleep, 0)
            elapsed.append(clock.monotonic())

    async def caller() -> None:
        with clock.hold("a call", "call"):
            await handler()

    calling = asyncio.create_task(caller())
    await clock.advance(3600)
    await calling
    assert elapsed == [0, 7, 7]


async def test_serving_an_unknown_call_changes_nothing() -> None:
    clock = VirtualClock()
    with clock.hold("a call", "one"), clock.serving("another"):
        assert clock.held_by == ["a call"]


async def test_clock_that_is_held_too_long_names_the_work() -> None:
    clock = VirtualClock(longest_hold=0.01)
    expected = r"held for more than 0\.01 real seconds by work outside the event loop: the webhook at https://a\. End"
    with clock.hold("the webhook at https://a"), pytest.raises(TimeoutError, match=expected):
        await clock.advance(1)
    await clock.advance(1)
    assert clock.monotonic() == 1


async def test_limit_passes_in_virtual_time() -> None:
    clock, called = VirtualClock(), []
    clock.limit(3600, lambda: called.append(clock.monotonic()))
    await clock.advance(7200)
    assert called == [3600]


async def test_limit_passes_in_real_time_while_the_clock_is_held() -> None:
    clock, called = VirtualClock(), asyncio.Event()
    with clock.hold("a thread that hangs"):
        clock.limit(0.01, called.set)
        async with asyncio.timeout(PATIENCE):
            await called.wait()
    assert clock.next_timer is None, "the virtual timer went with the real one"


async def test_canceled_limit_never_calls() -> None:
    clock, called = VirtualClock(), []
    clock.limit(0, lambda: called.append(True)).cancel()
    await asyncio.sleep(0)
    await clock.advance(1)
    assert called == []


async def test_system_clock_holds_nothing() -> None:
    clock = SystemClock()
    with clock.hold("a thread", "name"), clock.serving("name"):
        called = asyncio.Event()
        clock.limit(0, called.set)
        await called.wait()


def test_rooms_of_an_operator_hold_the_clock_where_they_leave_the_event_loop() -> None:
    rooms = ("cache", "client", "cluster", "controller", "crd", "election", "events", "operator", "queue", "webhook")
    leaving = re.compile(r"\b(to_thread|run_in_executor|subprocess_exec|wrap_future|in_thread|open_connection)\(")
    root = Path(kubewright.__file__).parent
    real = {root / "cluster" / "processes", root / "cluster" / "services"}  # pods that run refuse a virtual clock
    files = [path for room in rooms for path in (root / room).rglob("*.py") if path.parent not in real]
    found = {str(path.relative_to(root)): path.read_text() for path in files if leaving.search(path.read_text())}
    assert len(found) >= 4
    assert [path for path, text in found.items() if ".hold(" not in text] == []
