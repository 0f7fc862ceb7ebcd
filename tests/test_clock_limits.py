"""Time limits on an injected clock."""

from __future__ import annotations

import asyncio
import gc

import pytest

from kubewright.clock import CancelScope, TimeLimitExceeded, VirtualClock, within


async def test_within_returns_the_result_of_work_that_ends_in_time() -> None:
    clock = VirtualClock()

    async def work() -> int:
        await clock.sleep(3)
        return 7

    limited = asyncio.create_task(within(clock, 5, work()))
    await clock.advance(3)
    assert await limited == 7


async def test_within_cancels_work_at_the_limit() -> None:
    clock, ended = VirtualClock(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    limited = asyncio.create_task(within(clock, 5, work()))
    await clock.advance(5)
    with pytest.raises(TimeLimitExceeded):
        await limited
    await ended.wait()


async def test_within_does_not_wait_for_work_that_ignores_its_cancellation() -> None:
    clock, released = VirtualClock(), asyncio.Event()

    async def work() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError("retrieved, and not logged")

    limited = asyncio.create_task(within(clock, 5, work()))
    await clock.advance(5)
    with pytest.raises(TimeLimitExceeded):
        await limited
    released.set()
    await asyncio.sleep(0)


async def test_within_passes_on_a_timeout_of_the_work_itself() -> None:
    async def work() -> None:
        raise TimeoutError("of the work")

    with pytest.raises(TimeoutError, match="of the work") as raised:
        await within(VirtualClock(), 5, work())
    assert not isinstance(raised.value, TimeLimitExceeded)


async def test_within_cancels_the_work_if_the_caller_is_cancelled() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    limited = asyncio.create_task(within(VirtualClock(), 5, work()))
    await started.wait()
    limited.cancel()
    with pytest.raises(asyncio.CancelledError):
        await limited
    await ended.wait()


async def test_a_scope_raises_the_error_it_was_cancelled_with() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(ValueError, match="stop"), CancelScope() as scope:
        loop.call_soon(scope.cancel, ValueError("stop"))
        loop.call_soon(scope.cancel, ValueError("ignored"))
        await asyncio.Event().wait()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_scope_that_ended_cancels_nothing() -> None:
    with CancelScope() as scope:
        pass
    scope.cancel(ValueError("late"))
    await asyncio.sleep(0)


async def test_the_cancellation_of_the_task_wins_over_that_of_a_scope() -> None:
    started = asyncio.Event()
    scope = CancelScope()

    async def work() -> None:
        with scope:
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await started.wait()
    scope.cancel(ValueError("stop"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_block_wins_over_that_of_a_scope() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(KeyError), CancelScope() as scope:
        loop.call_soon(scope.cancel, ValueError("stop"))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise KeyError from None
    await asyncio.sleep(0)


def test_a_scope_needs_a_task() -> None:
    with pytest.raises(RuntimeError), CancelScope():
        pass


async def test_within_reports_no_failure_of_work_that_ends_while_the_caller_is_cancelled() -> None:
    """The work fails before its caller runs again, and the caller is cancelled in the same turn."""
    reported: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    failing: asyncio.Future[None] = loop.create_future()
    caller = asyncio.ensure_future(within(VirtualClock(), 5.0, failing))
    await asyncio.sleep(0)
    failing.set_exception(ConnectionResetError())
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    del failing, caller
    gc.collect()
    await asyncio.sleep(0)
    gc.collect()
    assert reported == []
