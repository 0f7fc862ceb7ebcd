"""The clocks: the virtual one must be dependable, or no test that uses it is."""

import asyncio
import functools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.clock import Clock, SystemClock, VirtualClock


@pytest.mark.parametrize("make", [SystemClock, VirtualClock])
def test_both_clocks_have_the_same_contract(make: Callable[[], Clock]) -> None:
    clock = make()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() <= clock.monotonic()


async def test_the_system_clock_calls_back_in_the_event_loop() -> None:
    called = asyncio.Event()
    SystemClock().call_later(-1, called.set)
    await called.wait()


async def test_a_cancelled_system_timer_does_not_call() -> None:
    clock, called = SystemClock(), []
    clock.call_later(0, lambda: called.append("cancelled")).cancel()
    later = asyncio.Event()
    clock.call_later(0.001, later.set)
    await later.wait()
    assert called == []


@pytest.mark.parametrize("make", [SystemClock, VirtualClock])
async def test_sleeping_for_zero_seconds_yields(make: Callable[[], Clock]) -> None:
    ran: list[str] = []
    other = asyncio.create_task(_append(ran, "other"))
    await make().sleep(0)
    assert ran == ["other"]
    await other


async def _append(target: list[str], value: str) -> None:
    target.append(value)


@pytest.mark.promise(
    "Injected time, randomness and transport",
    "An hour of waiting takes no time, and stops at the requested moment.",
)
async def test_virtual_time_moves_only_when_advanced() -> None:
    clock = VirtualClock(datetime(2031, 5, 1, tzinfo=UTC))
    await clock.settled()
    assert clock.monotonic() == 0
    assert clock.now() == datetime(2031, 5, 1, tzinfo=UTC)
    await clock.advance(1.5)
    assert clock.monotonic() == 1.5
    assert clock.now() == datetime(2031, 5, 1, 0, 0, 1, 500_000, tzinfo=UTC)


async def test_timers_run_at_their_moment_in_order_of_time_then_of_setting() -> None:
    clock = VirtualClock()
    calls: list[tuple[str, float]] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: calls.append((name, clock.monotonic()))

    clock.call_later(2, note("late"))
    clock.call_later(1, note("first"))
    clock.call_later(1, note("second"))
    clock.call_later(-5, note("at once"))
    await clock.advance(1.5)
    assert calls == [("at once", 0), ("first", 1), ("second", 1)]
    await clock.advance(10)
    assert calls[3:] == [("late", 2)]


async def test_a_timer_set_by_a_timer_runs_in_the_same_advance() -> None:
    clock = VirtualClock()
    times: list[float] = []

    def tick() -> None:
        times.append(clock.monotonic())
        clock.call_later(60, tick)

    clock.call_later(60, tick)
    await clock.advance(3600)
    assert times == [60.0 * n for n in range(1, 61)]


async def test_sleeping_task_wakes_on_time_and_may_sleep_again() -> None:
    clock = VirtualClock()
    times: list[float] = []

    async def sleeper() -> None:
        for seconds in (1, 2, 3):
            await clock.sleep(seconds)
            times.append(clock.monotonic())

    task = asyncio.create_task(sleeper())
    await clock.advance(100)
    assert times == [1, 3, 6]
    assert task.done()


async def test_a_cancelled_sleep_leaves_no_timer() -> None:
    clock = VirtualClock()
    task = asyncio.create_task(clock.sleep(5))
    await clock.settled()
    assert clock.next_timer == 5
    task.cancel()
    await clock.settled()
    assert task.cancelled()
    assert clock.next_timer is None


async def test_cancelling_a_timer_that_ran_is_harmless() -> None:
    clock, calls = VirtualClock(), []
    timer = clock.call_later(1, lambda: calls.append(1))
    await clock.advance(1)
    timer.cancel()
    assert calls == [1]


async def test_tenths_of_seconds_add_up() -> None:
    clock, calls = VirtualClock(), []
    clock.call_later(0.8, lambda: calls.append("on time"))
    await clock.advance(0.7)
    await clock.advance(0.1)  # as floats, 0.7 + 0.1 is less than 0.8
    assert calls == ["on time"]


@given(st.lists(st.integers(0, 10_000_000), min_size=1, max_size=20))
def test_however_the_way_is_cut_the_timers_run_once_and_in_order(steps_in_microseconds: list[int]) -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        calls: list[int] = []
        total = sum(steps_in_microseconds)
        for microseconds in (total // 2, total, 0):
            clock.call_later(microseconds / 1e6, functools.partial(calls.append, microseconds))
        for step in steps_in_microseconds:
            await clock.advance(step / 1e6)
        assert calls == sorted((0, total // 2, total))
        assert clock.now() - VirtualClock().now() == timedelta(microseconds=total)

    asyncio.run(scenario())


async def test_settling_follows_a_long_chain_of_tasks() -> None:
    clock = VirtualClock()
    links: list[asyncio.Future[None]] = [asyncio.get_running_loop().create_future() for _ in range(200)]

    async def pass_on(number: int) -> None:
        await links[number]
        links[number + 1].set_result(None)

    tasks = [asyncio.create_task(pass_on(number)) for number in range(199)]
    clock.call_later(1, lambda: links[0].set_result(None))
    await clock.advance(1)
    assert links[-1].done()
    assert all(task.done() for task in tasks)


async def test_settling_ends_although_a_task_is_always_busy() -> None:
    async def busy() -> None:
        while True:  # noqa: ASYNC110 - being busy is the point
            await asyncio.sleep(0)

    task = asyncio.create_task(busy())
    await VirtualClock().settled()
    task.cancel()


async def test_an_exception_of_a_timer_comes_out_of_advance() -> None:
    clock = VirtualClock()
    clock.call_later(1, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await clock.advance(5)
    assert clock.monotonic() == 1


async def test_timers_that_renew_themselves_without_delay_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    # private: a bound of fifty timers instead of thousands
    monkeypatch.setattr("kubewright.clock._virtual._TIMERS_AT_ONE_MOMENT", 50)
    clock = VirtualClock()

    def again() -> None:
        clock.call_later(0, again)

    again()
    with pytest.raises(RuntimeError, match=r"timers keep setting timers for the same moment, 0\.0 s"):
        await clock.advance(1)


async def test_a_clock_does_not_go_backwards() -> None:
    with pytest.raises(ValueError, match=r"never goes backwards: advance\(-1\)"):
        await VirtualClock().advance(-1)


@pytest.mark.promise(
    "Injected time, randomness and transport",
    "An hour of waiting takes no time, and stops at the requested moment.",
)
async def test_run_moves_time_until_the_work_is_finished_and_no_further() -> None:
    clock = VirtualClock()

    async def work() -> str:
        for _ in range(10):
            await clock.sleep(360)
        return "done"

    clock.call_later(10_000, lambda: None)
    assert await clock.run(work()) == "done"
    assert clock.monotonic() == 3600


async def test_run_passes_the_exception_of_the_work_on() -> None:
    async def work() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        await VirtualClock().run(work())


async def test_run_gives_up_at_its_limit_and_cancels_the_work() -> None:
    clock = VirtualClock()
    task = asyncio.ensure_future(clock.sleep(100))
    with pytest.raises(TimeoutError, match=r"not finished after 50 virtual seconds"):
        await clock.run(task, limit=50)
    await clock.settled()
    assert task.cancelled()


async def test_run_raises_when_nothing_can_finish_the_work() -> None:
    with pytest.raises(TimeoutError, match="no timer is set"):
        await VirtualClock().run(asyncio.Event().wait())


@given(st.floats(0, 1e8, allow_nan=False), st.floats(1e-15, 1e6, allow_nan=False))
def test_component_that_waits_for_a_float_deadline_reaches_it(start: float, delay: float) -> None:
    """It sets its timer again for the rest of the time, which may be a fraction of a nanosecond."""

    async def scenario() -> None:
        clock = VirtualClock()
        await clock.advance(start)
        deadline, looks = clock.monotonic() + delay, 0

        def look() -> None:
            nonlocal looks
            looks += 1
            if clock.monotonic() < deadline:
                clock.call_later(deadline - clock.monotonic(), look)

        clock.call_later(delay, look)
        await clock.advance(delay + 1)
        assert 1 <= looks <= 4
        assert clock.next_timer is None
        assert clock.monotonic() >= deadline

    asyncio.run(scenario())


@given(st.floats(0, 1e6, allow_nan=False), st.floats(0, 1e6, allow_nan=False))
def test_advance_reaches_the_timer_of_the_same_delay(start: float, delay: float) -> None:
    async def scenario() -> None:
        clock, called = VirtualClock(), []
        await clock.advance(start)
        clock.call_later(delay, lambda: called.append(True))
        await clock.advance(delay)
        assert called == [True]

    asyncio.run(scenario())


async def test_advance_until_stops_at_the_timer_that_makes_the_predicate_true() -> None:
    clock, done = VirtualClock(), []
    clock.call_later(30, lambda: done.append("first"))
    clock.call_later(90, lambda: done.append("second"))
    await clock.advance_until(lambda: len(done) == 1)
    assert clock.monotonic() == 30
    await clock.advance_until(lambda: len(done) == 1)
    assert clock.monotonic() == 30, "true already"


async def test_advance_until_awaits_an_async_predicate_that_needs_time_itself() -> None:
    clock, done = VirtualClock(), []
    clock.call_later(30, lambda: done.append(True))

    async def is_done() -> bool:
        await clock.sleep(1)
        return bool(done)

    await clock.advance_until(is_done)
    assert done
    assert clock.monotonic() < 35


async def test_advance_until_names_the_predicate_that_stays_false() -> None:
    clock = VirtualClock()
    clock.call_later(100, lambda: None)

    def is_ready() -> bool:
        return False

    with pytest.raises(TimeoutError, match=r"is_ready is not true after 50 virtual seconds"):
        await clock.advance_until(is_ready, limit=50)
    with pytest.raises(TimeoutError, match=r"is_ready is not true, and no timer is set that could change that"):
        await clock.advance_until(is_ready, limit=500)
    assert clock.monotonic() == 100


async def test_settled_runs_timers_that_are_due_and_does_not_move_time() -> None:
    clock, called = VirtualClock(), []
    clock.call_later(0, lambda: called.append("due"))
    clock.call_later(1e-9, lambda: called.append("later"))
    await clock.settled()
    assert (called, clock.monotonic()) == (["due"], 0)


async def test_deferrable_timer_runs_when_the_clock_stops_and_before_the_reason_for_that() -> None:
    clock = VirtualClock()
    calls: list[tuple[str, float]] = []

    def note(name: str) -> Callable[[], None]:
        return lambda: calls.append((name, clock.monotonic()))

    clock.call_later(50, note("exact"))
    clock.call_later(10, note("deferred"), deferrable=True)
    clock.call_later(60, note("deferred to the end"), deferrable=True)
    await clock.advance(100)
    assert calls == [("deferred", 50), ("exact", 50), ("deferred to the end", 100)]


async def test_deferrable_work_of_a_month_runs_once() -> None:
    clock, beats = VirtualClock(), []

    async def heartbeat() -> None:
        while True:
            await clock.sleep(10, deferrable=True)
            beats.append(clock.monotonic())

    task = asyncio.create_task(heartbeat())
    await clock.advance(30 * 86_400)
    assert beats == [30 * 86_400]
    assert clock.next_timer == 10
    task.cancel()


async def test_run_moves_to_a_deferrable_timer_if_there_is_no_other() -> None:
    clock = VirtualClock()
    await clock.run(clock.sleep(10, deferrable=True))
    assert clock.monotonic() == 10


async def test_stops_at_deferrable_timers_after_stop_deferring() -> None:
    clock = VirtualClock()
    fired: list[float] = []
    clock.call_later(10, lambda: fired.append(clock.monotonic()), deferrable=True)
    await clock.advance(5)
    clock.stop_deferring()
    await clock.advance(15)
    assert fired == [10]
