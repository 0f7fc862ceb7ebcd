"""How a reconcile ends, and what happens to its key: on a virtual clock, without a server."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from datetime import timedelta
from typing import Any

import pytest

from kubewright.cache import ObjectKey
from kubewright.client.wire import error_from
from kubewright.clock import SystemClock, VirtualClock
from kubewright.controller import (
    BlockingContext,
    Context,
    ReconcileTimeout,
    Result,
    TerminalError,
)
from kubewright.observe import inspect
from kubewright.operator import Operator
from kubewright.queue import ExponentialBackoff
from tests.controller.conftest import Part, Thing, key, thing, working
from tests.patience import PATIENCE, until
from tests.unheld_clock import UnheldClock

# How a reconcile ends


@pytest.mark.promise("How a reconcile ends", "Nothing returned: done.")
async def test_a_reconcile_that_returns_none_is_done(operator: Operator, clock: VirtualClock) -> None:
    seen: list[str] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(3600)
        assert seen == ["one"]
        assert stage.controller.stats.reconciles == {"success": 1}


@pytest.mark.promise("How a reconcile ends", "An exception: backoff from 5 ms, and a full line in the log.")
async def test_an_exception_backs_off_from_5_ms_doubling_and_success_forgets_it(
    operator: Operator, clock: VirtualClock
) -> None:
    times: list[float] = []
    attempts: list[int] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        attempts.append(ctx.attempt)
        if len(times) in (1, 2, 3, 5):
            raise RuntimeError("not yet")

    async with working(operator, clock) as stage:
        stage.put(thing(size=1))
        await clock.advance(1)
        stage.put(thing(size=2))
        await clock.advance(1)
    assert times == [0, 0.005, 0.015, 0.035, 1.0, 1.005]
    assert attempts == [1, 2, 3, 4, 1, 2]


@pytest.mark.promise("How a reconcile ends", "An exception: backoff from 5 ms, and a full line in the log.")
async def test_a_failure_is_one_full_log_line_with_its_traceback(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        raise RuntimeError("no such zone")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == (
        "Thing default/one: reconcile failed, attempt 1, retrying in 5ms: RuntimeError: no such zone"
    )
    assert record.exc_info is not None
    assert record.name == "kubewright.controller.thing"
    assert (record.__dict__["controller"], record.__dict__["object"]) == ("thing", "default/one")


async def test_a_failure_names_the_resync_that_comes_before_the_backoff_ends(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    times: list[float] = []

    @operator.reconciles(Thing, resync="10m", rate_limiter=ExponentialBackoff(1000, 1000))
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        raise RuntimeError("no such zone")

    async with working(operator, clock) as stage:
        await clock.advance(60)
        stage.put(thing())
        await clock.settled()
        assert "attempt 1, retrying in 16m40s, or at the resync in 9m: RuntimeError" in caplog.text
        queue = inspect(stage.controller, key()).queue
        assert (queue.ready_at, queue.resync_at) == (
            clock.now() + timedelta(seconds=1000),
            clock.now() + timedelta(minutes=9),
        )
        assert inspect(stage.controller, key()).next_retry == queue.next_at == queue.resync_at
        await clock.advance(9 * 60)
    assert times == [60, 600]


async def test_logs_each_reconcile_at_debug_level(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    with caplog.at_level(logging.DEBUG, "kubewright.controller"):
        async with working(operator, clock) as stage:
            stage.put(thing())
            await clock.settled()
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert lines == ["Thing default/one: reconciled in 0s: success; trigger: added"]


@pytest.mark.promise("How a reconcile ends", "`requeue`: the key is requeued with backoff, and that is not an error.")
async def test_requeue_backs_off_without_counting_as_an_error(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    times: list[float] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result | None:
        times.append(clock.monotonic())
        return Result(requeue=True) if len(times) < 4 else None

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
        assert times == [0, 0.005, 0.015, 0.035]
        assert stage.controller.stats.reconciles == {"requeue": 3, "success": 1}
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.promise(
    "How a reconcile ends",
    "`requeue_after`: the backoff is forgotten, the key comes back then, or earlier by a change.",
)
async def test_requeue_after_resets_the_backoff(operator: Operator, clock: VirtualClock) -> None:
    times: list[float] = []
    triggers: list[str] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result | None:
        times.append(clock.monotonic())
        triggers.append(ctx.trigger)
        if len(times) == 1:
            raise RuntimeError("once")
        if len(times) == 2:
            return Result(requeue_after=timedelta(minutes=1))
        if len(times) == 3:
            raise RuntimeError("again")
        return None

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(61)
        assert stage.controller.queue.retries(key()) == 0
    assert times == [0, 0.005, 60.005, 60.01]
    assert triggers == ["added", "retry", "requeue", "retry"]


@pytest.mark.parametrize("no_time", [0, 0.0, timedelta(0)], ids=repr)
async def test_requeue_after_zero_backs_off(
    operator: Operator, clock: VirtualClock, no_time: float | timedelta
) -> None:
    times: list[float] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result | None:
        times.append(clock.monotonic())
        return Result(requeue_after=no_time) if len(times) < 4 else None

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
        assert times == [0, 0.005, 0.015, 0.035]
        assert stage.controller.stats.reconciles == {"requeue": 3, "success": 1}


@pytest.mark.promise(
    "How a reconcile ends",
    "`requeue_after`: the backoff is forgotten, the key comes back then, or earlier by a change.",
)
async def test_a_change_triggers_the_key_before_requeue_after(operator: Operator, clock: VirtualClock) -> None:
    times: list[float] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result:
        times.append(clock.monotonic())
        return Result(requeue_after=60)

    async with working(operator, clock) as stage:
        stage.put(thing(size=1))
        await clock.advance(10)
        stage.put(thing(size=2))
        await clock.advance(65)
    assert times == [0, 10, 70]


@pytest.mark.promise(
    "How a reconcile ends",
    "`TerminalError`: counted and logged, and only a change brings the key back.",
)
async def test_a_terminal_error_is_logged_and_counted_and_not_retried_until_a_change(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    times: list[float] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        raise TerminalError("deploymentName must be specified")

    async with working(operator, clock) as stage:
        stage.put(thing(size=1))
        await clock.advance(3600)
        assert times == [0]
        stage.put(thing(size=2))
        await clock.advance(1)
        assert times == [0, 3600]
        assert stage.controller.stats.reconciles == {"terminal_error": 2}
    assert "deploymentName must be specified" in caplog.text


GOING = {"message": "namespace shop is being terminated", "reason": "NamespaceTerminating"}


@pytest.mark.promise(
    "How a reconcile ends",
    "A conflict, and a namespace that is being deleted, are met again without noise.",
)
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (409, {"message": "the object has been modified"}),
        (403, {"message": "it is being modified away", "details": {"causes": [GOING]}}),
    ],
    ids=["conflict", "namespace is going"],
)
async def test_retries_common_errors_with_one_info_line(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture, code: int, status: dict[str, Any]
) -> None:
    caplog.set_level(logging.INFO)
    calls: list[int] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        calls.append(ctx.attempt)
        if len(calls) == 1:
            raise error_from(code, {}, json.dumps({"kind": "Status", **status}).encode(), request="create parts")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
    assert calls == [1, 2]
    [record] = [record for record in caplog.records if "modified" in record.getMessage()]
    assert (record.levelno, record.exc_info) == (logging.INFO, None)


@pytest.mark.promise("How a reconcile ends", "A server that asks for a pause is given it, by reconciles and watches.")
async def test_retries_no_earlier_than_retry_after(operator: Operator, clock: VirtualClock) -> None:
    times: list[float] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        seconds = ["60", "31536000", ""][len(times) - 1]
        raise error_from(429, {"Retry-After": seconds} if seconds else {}, b"", request="create parts")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1060.01)
    assert times == [0, 60, 1060]


async def test_rejects_an_invalid_result_with_the_name_of_the_function(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result | None:
        return 30  # type: ignore[return-value]

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(60)
        assert stage.controller.stats.reconciles == {"terminal_error": 1}
    assert "sync must return a Result or None, but returned 30" in caplog.text


async def test_a_cancelled_future_inside_a_reconciler_fails_the_reconcile_and_not_the_worker(
    operator: Operator, clock: VirtualClock
) -> None:
    calls: list[int] = []

    @operator.reconciles(Thing, concurrency=1)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        calls.append(ctx.attempt)
        if len(calls) == 1:
            cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            cancelled.cancel()
            await cancelled

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
    assert calls == [1, 2]


class Panic(BaseException):
    """As extensions written in Rust raise it."""


@pytest.mark.promise(
    "How a reconcile ends",
    "Whatever a function of yours raises, it costs neither the key nor the worker.",
)
@pytest.mark.parametrize(
    "raised", [Panic("oh"), SystemExit(2), GeneratorExit(), asyncio.CancelledError(), StopIteration()], ids=repr
)
@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
async def test_any_exception_loses_neither_the_key_nor_the_worker(
    operator: Operator, caplog: pytest.LogCaptureFixture, raised: BaseException, plain: bool
) -> None:
    calls: list[int] = []

    def fail_once(attempt: int) -> None:
        calls.append(attempt)
        if attempt == 1:
            raise raised

    async def waiting(obj: Thing, ctx: Context[Thing]) -> None:
        fail_once(ctx.attempt)

    def blocking(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        fail_once(ctx.attempt)

    operator.reconciles(Thing, concurrency=1)(blocking if plain else waiting)
    async with working(operator, SystemClock()) as stage:
        stage.put(thing())
        await until(lambda: stage.controller.stats.reconciles.total() == 2)
        assert stage.controller.stats.reconciles == {"error": 1, "success": 1}
    assert calls == [1, 2]
    assert "reconcile failed, attempt 1, retrying in" in caplog.text
    assert type(raised).__name__ in caplog.text


@pytest.mark.promise("How a reconcile ends", "A rate limiter of one's own sets the pace.")
async def test_uses_a_custom_rate_limiter(operator: Operator, clock: VirtualClock) -> None:
    times: list[float] = []

    @operator.reconciles(Thing, rate_limiter=ExponentialBackoff(10, 20))
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        raise RuntimeError

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(60)
    assert times == [0, 10, 30, 50]


@pytest.mark.parametrize("given", [ExponentialBackoff, ExponentialBackoff[ObjectKey], lambda: ExponentialBackoff(1)])
async def test_calls_a_rate_limiter_factory_at_the_start(operator: Operator, clock: VirtualClock, given: Any) -> None:
    @operator.reconciles(Thing, rate_limiter=given)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    async with working(operator, clock) as stage:
        assert isinstance(stage.controller.queue.rate_limiter, ExponentialBackoff)


async def test_rejects_an_invalid_rate_limiter_factory_at_the_start(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing, rate_limiter=lambda: 5)  # type: ignore[arg-type,return-value]
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    with pytest.raises(TypeError, match=r"<lambda> must make a rate limiter, such as Exp.*, not 5"):
        async with working(operator, clock):
            pytest.fail("it must not start")


@pytest.mark.parametrize("error", [ArithmeticError, SystemExit, asyncio.CancelledError])
async def test_a_failing_rate_limiter_loses_neither_the_key_nor_the_worker(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    times: list[float] = []

    class Broken(ExponentialBackoff[ObjectKey]):
        asked = 0

        def when(self, key: ObjectKey) -> float:
            raise error("the limiter is broken")

        def retries(self, key: ObjectKey) -> int:
            self.asked += 1
            if self.asked == 1:
                raise error("it does not know how often")
            return 0

    @operator.reconciles(Thing, rate_limiter=Broken(), concurrency=1)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        if len(times) == 1:
            raise RuntimeError

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(10)
    assert times == [1, 2]
    assert "the limiter is broken" in caplog.text
    assert "it does not know how often" in caplog.text
    assert stage.controller.stats.active == 0


async def test_a_failing_logger_loses_neither_the_key_nor_the_worker(
    operator: Operator, clock: VirtualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    times: list[float] = []

    class Broken(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise ArithmeticError("the filter is broken")

    @operator.reconciles(Thing, name="unlucky", concurrency=1)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        if len(times) < 3:
            raise TerminalError

    logger, broken = logging.getLogger("kubewright.controller.unlucky"), Broken()
    logger.addFilter(broken)
    try:
        async with working(operator, clock) as stage:
            stage.put(thing())
            await clock.advance(10)
    finally:
        logger.removeFilter(broken)
    assert times == [0, 1, 2]
    assert "the filter is broken" in capsys.readouterr().err
    assert stage.controller.stats.active == 0


# Timeouts


@pytest.mark.promise(
    "How a reconcile ends",
    "A timeout interrupts an async reconciler; a thread is interrupted at its next call.",
)
async def test_a_reconcile_that_takes_too_long_is_interrupted_and_retried(
    operator: Operator, clock: VirtualClock
) -> None:
    outcomes: list[BaseException | None] = []

    @operator.reconciles(Thing, timeout=30)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        if not outcomes:
            try:
                await clock.sleep(3600)
            except BaseException as error:
                outcomes.append(error)
                raise
        outcomes.append(None)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(31)
        assert stage.controller.stats.reconciles == {"error": 1, "success": 1}
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert outcomes[1] is None


@pytest.mark.promise(
    "How a reconcile ends",
    "A timeout interrupts an async reconciler; a thread is interrupted at its next call.",
)
async def test_a_thread_gets_the_timeout_at_its_next_call_of_the_context(
    operator: Operator, caplog: pytest.LogCaptureFixture
) -> None:
    clock = UnheldClock()
    entered, expired = threading.Event(), threading.Event()
    met: list[BaseException] = []

    @operator.reconciles(Thing, timeout=30, concurrency=2)
    def sync(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        entered.set()
        assert expired.wait(PATIENCE)
        try:
            ctx.delete(Part, "p")
        except ReconcileTimeout as error:
            met.append(error)
            raise

    async with working(operator, clock) as stage:
        stage.put(thing())
        await asyncio.to_thread(entered.wait, PATIENCE)
        await clock.advance(30)
        assert stage.controller.stats.active == 1, "the key stays with its worker while the thread lives"
        assert "took more than 30s; it runs in a thread, which cannot be interrupted" in caplog.text
        expired.set()
        await until(lambda: stage.controller.stats.reconciles)
        assert stage.controller.stats.reconciles == {"error": 1}
    assert str(met[0]) == "the reconcile of Thing default/one took more than 30s"


@pytest.mark.promise("How a reconcile ends", "A reconcile that does not end is logged.")
async def test_warns_about_a_slow_reconcile_every_ten_minutes(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        if obj.metadata.name == "endless":
            await clock.sleep(1500)

    async with working(operator, clock) as stage:
        stage.put(thing("quick"))
        await clock.advance(30)
        stage.put(thing("endless"))
        await clock.advance(590)
        assert "has been running" not in caplog.text
        await clock.advance(900)
        messages = [record.getMessage() for record in caplog.records if "has been running" in record.getMessage()]
        assert [text.partition(",")[0] for text in messages] == [
            "Thing default/endless: the reconcile has been running for 10m",
            "Thing default/endless: the reconcile has been running for 20m",
        ]
        await clock.advance(600)
        assert clock.next_timer is None, "no timer while nothing runs"
