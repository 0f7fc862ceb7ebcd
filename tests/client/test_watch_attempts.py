"""The loop that opens watches again, without a server."""

from __future__ import annotations

import asyncio

import pytest

from kubewright.client.watch import WatchAttempt, WatchAttempts
from kubewright.clock import VirtualClock


async def test_attempt_records_its_error_and_how_long_the_watch_was_open() -> None:
    clock = VirtualClock()
    failure = ValueError("broken")
    with (attempt := WatchAttempt(clock)):
        await clock.run(clock.sleep(3))
        attempt.opened()
        await clock.run(clock.sleep(7))
        raise failure
    assert attempt.error is failure
    assert attempt.was_opened
    assert attempt.lasted == 7


async def test_attempt_that_was_not_opened_lasted_no_time() -> None:
    clock = VirtualClock()
    with (attempt := WatchAttempt(clock)):
        await clock.run(clock.sleep(3))
    assert (attempt.error, attempt.was_opened, attempt.lasted) == (None, False, 0)


async def test_cancellation_of_the_task_ends_an_attempt() -> None:
    async def watch() -> None:
        with WatchAttempt(VirtualClock()):
            await asyncio.get_running_loop().create_future()

    task = asyncio.create_task(watch())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancellation_by_something_else_is_an_error_of_the_request() -> None:
    with (attempt := WatchAttempt(VirtualClock())):
        raise asyncio.CancelledError
    assert str(attempt.error) == "the request was canceled by something else"


async def test_waits_between_attempts_until_the_decision_is_to_raise() -> None:
    clock = VirtualClock()
    delays = [1.0, 2.0, 4.0]
    starts: list[float] = []

    async def delay_after(attempt: WatchAttempt) -> float:
        if not delays:
            assert attempt.error is not None
            raise attempt.error
        return delays.pop(0)

    async def watch() -> None:
        async for attempt in WatchAttempts(clock, delay_after):
            starts.append(clock.monotonic())
            with attempt:
                raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await clock.run(watch())
    assert starts == [0, 1, 3, 7]
