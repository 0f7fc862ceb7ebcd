"""What becomes of a key, and when reconcilers are called: on a virtual clock, without a server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubewright.api import ObjectMeta, OwnerReference, encode, to_dict
from kubewright.cache import Change, ObjectKey
from kubewright.client import Conflict, Status
from kubewright.clock import SystemClock, VirtualClock
from kubewright.controller import (
    BlockingContext,
    Context,
    Owns,
    Reader,
    ReconcileTimeout,
    Result,
    TerminalError,
    Watch,
    generation_changed,
    predicate,
)
from kubewright.operator import Operator
from kubewright.queue import ExponentialBackoff
from tests.controller.conftest import Part, Stage, Thing, ThingSpec, key, thing, until, working


def part(owner: str, name: str = "p") -> Part:
    reference = OwnerReference(
        api_version="example.com/v1", kind="Thing", name=owner, uid=f"uid-{owner}", controller=True
    )
    meta = ObjectMeta(name=name, namespace="default", uid=f"uid-{name}", owner_references=[reference])
    return Part(metadata=meta, spec=ThingSpec())


# How a reconcile ends


async def test_a_reconcile_that_returns_nothing_is_done(operator: Operator, clock: VirtualClock) -> None:
    seen: list[str] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(3600)
        assert seen == ["one"]
        assert stage.controller.stats.reconciles == {"success": 1}


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


async def test_a_failure_is_one_full_log_line_with_its_traceback(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        raise RuntimeError("no such zone")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settle()
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == (
        "Thing default/one: reconcile failed, attempt 1, trying again in 0.005 s: RuntimeError: no such zone"
    )
    assert record.exc_info is not None
    assert record.name == "kubewright.controller.thing"
    assert (record.__dict__["controller"], record.__dict__["object"]) == ("thing", "default/one")


async def test_each_reconcile_is_a_line_for_those_who_want_details(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    with caplog.at_level(logging.DEBUG, "kubewright.controller"):
        async with working(operator, clock) as stage:
            stage.put(thing())
            await clock.settle()
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    assert lines == ["Thing default/one: reconciled in 0.000 s: success; trigger: added"]


async def test_requeue_comes_back_by_backoff_without_counting_as_an_error(
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


async def test_requeue_after_forgets_the_backoff_and_comes_back_then(operator: Operator, clock: VirtualClock) -> None:
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


async def test_a_change_brings_the_key_back_before_requeue_after(operator: Operator, clock: VirtualClock) -> None:
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


async def test_a_conflict_is_retried_with_one_quiet_line(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    calls: list[int] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        calls.append(ctx.attempt)
        if len(calls) == 1:
            raise Conflict(Status(code=409, message="the object has been modified"))

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
    assert calls == [1, 2]
    [record] = [record for record in caplog.records if "modified" in record.getMessage()]
    assert (record.levelno, record.exc_info) == (logging.INFO, None)


async def test_what_is_no_result_is_a_terminal_error_that_names_the_function(
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


async def test_a_rate_limiter_of_ones_own_sets_the_pace(operator: Operator, clock: VirtualClock) -> None:
    times: list[float] = []

    @operator.reconciles(Thing, rate_limiter=ExponentialBackoff(10, 20))
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        raise RuntimeError

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(60)
    assert times == [0, 10, 30, 50]


async def test_a_rate_limiter_that_fails_costs_neither_the_key_nor_the_worker(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    times: list[float] = []

    class Broken(ExponentialBackoff[ObjectKey]):
        def when(self, key: ObjectKey) -> float:
            raise ArithmeticError("the limiter is broken")

    @operator.reconciles(Thing, rate_limiter=Broken(), concurrency=1)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        times.append(clock.monotonic())
        if len(times) == 1:
            raise RuntimeError

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(10)
    assert times == [0, 1]
    assert "the limiter is broken" in caplog.text


# Time-outs


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


async def test_a_thread_meets_the_timeout_at_its_next_call_of_the_context(operator: Operator) -> None:
    clock = VirtualClock()
    entered, expired = threading.Event(), threading.Event()
    met: list[BaseException] = []

    @operator.reconciles(Thing, timeout=30, concurrency=2)
    def sync(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        entered.set()
        assert expired.wait(30)
        try:
            ctx.delete(Part, "p")
        except ReconcileTimeout as error:
            met.append(error)
            raise

    async with working(operator, clock) as stage:
        stage.put(thing())
        await asyncio.to_thread(entered.wait, 30)
        await clock.advance(30)
        assert stage.controller.stats.active == 1, "the key stays with its worker while the thread lives"
        expired.set()
        await until(lambda: stage.controller.stats.reconciles)
        assert stage.controller.stats.reconciles == {"error": 1}
    assert str(met[0]) == "the reconcile of Thing default/one took more than 30.0 s"


# Plain functions, classes and keys


async def test_plain_functions_run_in_threads_as_many_at_once_as_the_controller_may(operator: Operator) -> None:
    together = threading.Barrier(3)
    threads: set[str] = set()
    done = threading.Semaphore(0)

    @operator.reconciles(Thing, concurrency=3)
    def sync(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        together.wait(30)
        threads.add(threading.current_thread().name)
        done.release()

    async with working(operator, SystemClock()) as stage:
        for name in ("a", "b", "c"):
            stage.put(thing(name))
        for _ in range(3):
            assert await asyncio.to_thread(done.acquire, timeout=30)
    assert len(threads) == 3
    assert threading.main_thread().name not in threads


async def test_a_class_is_made_anew_at_each_start_and_its_methods_are_called(
    operator: Operator, clock: VirtualClock
) -> None:
    made: list[object] = []
    seen: list[tuple[str, str]] = []

    @operator.reconciles(Thing)
    class Keeper:
        def __init__(self) -> None:
            made.append(self)

        async def reconcile(self, obj: Thing, ctx: Context[Thing]) -> None:
            seen.append(("reconcile", obj.metadata.name))

        async def deleted(self, obj: Thing, ctx: Context[Thing]) -> None:
            seen.append(("deleted", obj.metadata.name))

    for _ in range(2):
        async with working(operator, clock) as stage:
            stage.put(thing())
            await clock.settle()
            stage.remove(thing())
            await clock.settle()
    assert len(made) == 2
    assert seen == [("reconcile", "one"), ("deleted", "one")] * 2


async def test_the_key_form_is_called_for_absent_objects_and_those_in_deletion(
    operator: Operator, clock: VirtualClock
) -> None:
    seen: list[tuple[ObjectKey, bool]] = []

    @operator.reconciles(Thing)
    async def sync(name: ObjectKey, ctx: Context[Thing]) -> None:
        seen.append((name, ctx.get(Thing, name.name) is not None))
        with pytest.raises(LookupError, match="asked for the key alone"):
            _ = ctx.object

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settle()
        stage.put(thing(deletion_timestamp=datetime(2030, 1, 1, tzinfo=UTC), finalizers=["other.com/one"]))
        await clock.settle()
        stage.remove(thing())
        await clock.settle()
        stage.controller.enqueue(key("never-was"))
        await clock.settle()
    assert seen == [(key(), True), (key(), True), (key(), False), (key("never-was"), False)]


async def test_the_object_form_is_not_called_for_objects_in_deletion_or_absent_ones(
    operator: Operator, clock: VirtualClock
) -> None:
    seen: list[str] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing(deletion_timestamp=datetime(2030, 1, 1, tzinfo=UTC), finalizers=["foregroundDeletion"]))
        stage.controller.enqueue(key("never-was"))
        await clock.settle()
        assert stage.controller.stats.reconciles == {"success": 2}
    assert seen == []


async def test_each_reconcile_has_an_object_of_its_own(operator: Operator, clock: VirtualClock) -> None:
    sizes: list[int] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result:
        sizes.append(obj.spec.size)
        obj.spec.size = 99
        return Result(requeue_after=1)

    async with working(operator, clock) as stage:
        stage.put(thing(size=3))
        await clock.advance(2)
    assert sizes == [3, 3, 3]


# The end of objects


async def test_a_deleted_object_reaches_the_callback_with_its_last_state_until_it_succeeds(
    operator: Operator, clock: VirtualClock
) -> None:
    told: list[tuple[int, int]] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    @operator.deleted(Thing)
    async def gone(obj: Thing, ctx: Context[Thing]) -> None:
        told.append((obj.spec.size, ctx.attempt))
        if ctx.attempt == 1:
            raise RuntimeError("the other system is down")

    async with working(operator, clock) as stage:
        stage.put(thing(size=1))
        await clock.settle()
        stage.remove(thing(size=7))
        await clock.advance(60)
    assert told == [(7, 1), (7, 2)]


async def test_an_object_made_anew_before_its_end_was_told_is_told_first_and_reconciled_then(
    operator: Operator, clock: VirtualClock
) -> None:
    seen: list[tuple[str, str]] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(("reconciled", obj.metadata.uid))

    @operator.deleted(Thing)
    async def gone(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(("deleted", obj.metadata.uid))

    async with working(operator, clock) as stage:
        stage.put(thing(uid="first"))
        await clock.settle()
        stage.remove(thing(uid="first"))
        stage.put(thing(uid="second"))
        await clock.settle()
    assert seen == [("reconciled", "first"), ("deleted", "first"), ("reconciled", "second")]


async def test_a_deletion_callback_needs_no_reconciler(operator: Operator, clock: VirtualClock) -> None:
    told: list[str] = []

    @operator.deleted(Thing)
    async def gone(obj: Thing, ctx: Context[Thing]) -> None:
        told.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing())
        stage.remove(thing())
        await clock.settle()
    assert told == ["one"]


# What wakes a key


async def test_the_initial_list_and_resyncs_go_behind_live_changes(operator: Operator, clock: VirtualClock) -> None:
    order: list[tuple[str, str]] = []

    @operator.reconciles(Thing, concurrency=1, resync=60)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        order.append((obj.metadata.name, ctx.trigger))

    stage = Stage(operator, clock)
    stage.put(thing("a"), initial=True)
    stage.put(thing("b"), initial=True)
    stage.put(thing("live"))
    stage.synced()
    stage.controller.start()
    await clock.settle()
    assert order == [("live", "added"), ("a", "initial"), ("b", "initial")]
    order.clear()
    await clock.advance(60)
    assert order == [("a", "resync"), ("b", "resync"), ("live", "resync")]
    await stage.controller.stop(grace=5)


async def test_a_predicate_decides_which_changes_count(operator: Operator, clock: VirtualClock) -> None:
    sizes: list[int] = []

    @operator.reconciles(Thing, when=generation_changed)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        sizes.append(obj.spec.size)

    async with working(operator, clock) as stage:
        for size, generation in ((1, 1), (2, 1), (3, 2)):
            stage.put(thing(size=size, generation=generation))
            await clock.settle()
    assert sizes == [1, 3]


async def test_predicates_compare_confirmed_states_so_our_own_write_hides_nobodys_change(
    operator: Operator, clock: VirtualClock
) -> None:
    sizes: list[int] = []
    compared: list[tuple[int, int]] = []

    def noted(change: Change[Any]) -> bool:
        if change.old is not None and change.new is not None:
            compared.append((change.old.generation, change.new.generation))
        return True

    @operator.reconciles(Thing, when=predicate(noted) & generation_changed)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        sizes.append(obj.spec.size)

    async with working(operator, clock) as stage:
        stage.put(thing(size=1, generation=1))
        await clock.settle()
        # Somebody asks for size 2, and we write a label on top of that before we have heard of it.
        ours = thing(size=2, generation=2, labels={"seen": "yes"}, resource_version="1000")
        stage.informers[Thing].written(ours)
        assert stage.informers[Thing].lister.snapshots()[0].generation == 2
        stage.put(thing(size=2, generation=2))
        await clock.settle()
        # Compared with what readers see, nothing would have changed, and nobody would have reconciled size 2.
        assert compared == [(1, 2)]
        assert sizes == [1, 2]


async def test_a_predicate_that_fails_lets_the_change_pass(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    @operator.reconciles(Thing, when=lambda change: 1 // 0 > 0)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settle()
    assert seen == ["one"]
    assert "ZeroDivisionError" in caplog.text


async def test_owned_objects_wake_their_owner_and_say_so(operator: Operator, clock: VirtualClock) -> None:
    triggers: list[str] = []

    @operator.reconciles(Thing, owns=[Owns(Part, when=generation_changed)])
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        triggers.append(ctx.trigger)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settle()
        stage.put(part("one"))
        await clock.settle()
        stage.put(part("one"))  # nothing that the predicate lets pass
        await clock.settle()
        stage.remove(part("one"))
        await clock.settle()
    assert triggers == ["added", "Part added", "Part deleted"]


async def test_owned_objects_are_read_by_their_owner(operator: Operator, clock: VirtualClock) -> None:
    owned: list[list[str]] = []

    @operator.reconciles(Thing, owns=[Part])
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        owned.append([found.metadata.name for found in ctx.owned(Part)])

    async with working(operator, clock) as stage:
        stage.put(part("one", "p"))
        stage.put(part("one", "q"))
        stage.put(part("other", "r"))
        stage.put(thing())
        await clock.settle()
    assert owned[-1] == ["p", "q"]


async def test_a_watched_object_wakes_what_a_function_names_before_and_after_a_change(
    operator: Operator, clock: VirtualClock
) -> None:
    seen: list[str] = []

    def users_of(found: Part, reader: Reader) -> list[ObjectKey]:
        return [ObjectKey.of(one) for one in reader.list(Thing) if one.spec.size == found.spec.size]

    @operator.reconciles(Thing, watches=[Watch(Part, map=users_of)])
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        for size, name in enumerate(("zero", "one", "two")):
            stage.put(thing(name, size))
        await clock.settle()
        seen.clear()
        shared = part("nobody")
        shared.spec.size = 1
        stage.put(shared)
        await clock.settle()
        assert seen == ["one"]
        shared.spec.size = 2
        stage.put(shared)
        await clock.settle()
        assert seen == ["one", "one", "two"]


async def test_a_map_function_of_the_object_alone_will_do(operator: Operator, clock: VirtualClock) -> None:
    seen: list[str] = []

    @operator.reconciles(Thing, watches=[Watch(Part, map=lambda found: [key(found.metadata.labels["for"])])])
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing("a"))
        await clock.settle()
        shared = part("nobody")
        shared.metadata.labels = {"for": "a"}
        stage.put(shared)
        await clock.settle()
    assert seen == ["a", "a"]


async def test_external_triggers_are_iterators_queues_or_functions_that_are_called_again(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[tuple[str, str]] = []
    queue: asyncio.Queue[ObjectKey] = asyncio.Queue()
    starts: list[float] = []

    async def names() -> AsyncIterator[ObjectKey]:
        yield key("iterated")

    async def shaky() -> AsyncIterator[ObjectKey]:
        starts.append(clock.monotonic())
        yield key(f"start-{len(starts)}")
        if len(starts) < 3:
            raise ConnectionError("the other system is down")

    @operator.reconciles(Thing, triggers=[names(), queue, shaky])
    async def sync(name: ObjectKey, ctx: Context[Thing]) -> None:
        seen.append((name.name, ctx.trigger))

    async with working(operator, clock):
        queue.put_nowait(key("queued"))
        await clock.advance(60)
    assert set(seen) == {(name, "external") for name in ("iterated", "queued", "start-1", "start-2", "start-3")}
    assert starts == [0, 1, 2]
    assert "the other system is down" in caplog.text


async def test_a_key_never_runs_twice_at_once_and_changes_meanwhile_run_it_once_more(
    operator: Operator, clock: VirtualClock
) -> None:
    running = 0
    sizes: list[int] = []

    @operator.reconciles(Thing, concurrency=5)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        nonlocal running
        running += 1
        assert running == 1
        sizes.append(obj.spec.size)
        await clock.sleep(10)
        running -= 1

    async with working(operator, clock) as stage:
        stage.put(thing(size=1))
        await clock.advance(1)
        for size in (2, 3, 4):
            stage.put(thing(size=size))
        await clock.advance(60)
    assert sizes == [1, 4]


async def test_concurrency_bounds_the_reconciles_at_a_time(operator: Operator, clock: VirtualClock) -> None:
    running = most = 0

    @operator.reconciles(Thing, concurrency=3)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await clock.sleep(1)
        running -= 1

    async with working(operator, clock) as stage:
        for number in range(10):
            stage.put(thing(f"t{number}"))
        await clock.advance(10)
        assert stage.controller.stats.reconciles == {"success": 10}
    assert most == 3


# Objects that do not fit


async def test_an_undecodable_object_fails_only_its_own_key_with_an_event_and_the_path_and_no_retries(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        broken = thing("broken")
        broken.metadata.resource_version = "1"
        content = to_dict(broken) | {"spec": {"size": "large"}}
        stage.put(broken, raw=encode(content))
        stage.put(thing("fine"))
        await clock.advance(3600)
        assert seen == ["fine"]
        assert stage.controller.stats.reconciles == {"success": 1, "terminal_error": 1}
        [(reason, message)] = stage.recorded()
    assert reason == "DecodeFailed"
    assert "spec.size: expected `int`, got `str`" in message
    assert "Thing default/broken: The object does not fit its model: spec.size" in caplog.text


async def test_a_kind_that_is_not_cached_is_refused_with_what_to_do(operator: Operator, clock: VirtualClock) -> None:
    errors: list[str] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        with contextlib.suppress(LookupError):
            try:
                ctx.get(Part, "p")
            except LookupError as error:
                errors.append(str(error))
                raise

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settle()
    assert errors == [
        "Part is not cached: add reads=[Part] (or owns=, watches=) to the reconciler, "
        "or ask the server with ctx.client.get(Part, ...)"
    ]


# Stopping


async def test_stopping_lets_a_running_reconcile_finish_and_starts_no_other(operator: Operator) -> None:
    clock = SystemClock()
    entered, leave = asyncio.Event(), asyncio.Event()
    finished: list[str] = []

    @operator.reconciles(Thing, concurrency=1)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        entered.set()
        await leave.wait()
        finished.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing("a"))
        stage.put(thing("b"))
        await entered.wait()
        stopping = asyncio.create_task(stage.controller.stop(grace=60))
        await asyncio.sleep(0)
        assert not stopping.done()
        leave.set()
        await stopping
    assert finished == ["a"]


async def test_what_does_not_end_within_the_grace_period_is_interrupted(operator: Operator) -> None:
    entered, interrupted = asyncio.Event(), asyncio.Event()

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            interrupted.set()

    async with working(operator, SystemClock()) as stage:
        stage.put(thing())
        await entered.wait()
        await stage.controller.stop(grace=0)
        assert interrupted.is_set()
