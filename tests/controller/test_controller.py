"""When reconcilers are called, and with what: on a virtual clock, without a server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from datetime import UTC, datetime

import pytest

from kubewright import resource
from kubewright.api import Model, ObjectMeta, Quantity, Resource, encode, from_dict, to_dict
from kubewright.cache import ObjectKey
from kubewright.clock import SystemClock, VirtualClock
from kubewright.controller import (
    BlockingContext,
    Context,
    Result,
    TerminalError,
)
from kubewright.operator import Operator
from tests.controller.conftest import Part, Stage, Thing, key, thing, working
from tests.patience import PATIENCE


class RationSpec(Model):
    size: Quantity | None = None


@resource("example.com/v1")
class Ration(Resource[RationSpec, None]):
    """What has a field whose values cannot all be read."""


# Plain functions, classes and keys


@pytest.mark.promise(
    "How a reconcile ends",
    "Plain functions have as many threads as the controller may run reconciles.",
)
async def test_plain_functions_run_in_as_many_threads_as_the_concurrency(operator: Operator) -> None:
    together = threading.Barrier(3)
    threads: set[str] = set()
    done = threading.Semaphore(0)

    @operator.reconciles(Thing, concurrency=3)
    def sync(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        together.wait(PATIENCE)
        threads.add(threading.current_thread().name)
        done.release()

    async with working(operator, SystemClock()) as stage:
        for name in ("a", "b", "c"):
            stage.put(thing(name))
        for _ in range(3):
            assert await asyncio.to_thread(done.acquire, timeout=PATIENCE)
    assert len(threads) == 3
    assert threading.main_thread().name not in threads


@pytest.mark.promise("What wakes a reconciler", "A function, async or plain, or a class.")
async def test_a_class_is_instantiated_at_each_start(operator: Operator, clock: VirtualClock) -> None:
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
            await clock.settled()
            stage.remove(thing())
            await clock.settled()
    assert len(made) == 2
    assert seen == [("reconcile", "one"), ("deleted", "one")] * 2


@pytest.mark.promise(
    "How a reconcile ends",
    "The object form is for objects that exist and stay; the key form is called for absent ones too.",
)
async def test_the_key_form_is_called_for_absent_objects_and_those_in_deletion(
    operator: Operator, clock: VirtualClock
) -> None:
    seen: list[tuple[ObjectKey, bool]] = []

    @operator.reconciles(Thing)
    async def sync(name: ObjectKey, ctx: Context[Thing]) -> None:
        seen.append((name, ctx.get(Thing, name.name) is not None))
        with pytest.raises(LookupError, match="takes only the key"):
            _ = ctx.object

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
        stage.put(thing(deletion_timestamp=datetime(2030, 1, 1, tzinfo=UTC), finalizers=["other.com/one"]))
        await clock.settled()
        stage.remove(thing())
        await clock.settled()
        stage.controller.enqueue(key("never-was"))
        await clock.settled()
    assert seen == [(key(), True), (key(), True), (key(), False), (key("never-was"), False)]


@pytest.mark.promise(
    "How a reconcile ends",
    "The object form is for objects that exist and stay; the key form is called for absent ones too.",
)
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
        await clock.settled()
        assert stage.controller.stats.reconciles == {"success": 2}
    assert seen == []


@pytest.mark.promise("What the cache keeps", "Every read gives a fresh object that belongs to its reader alone.")
async def test_each_reconcile_has_a_private_object(operator: Operator, clock: VirtualClock) -> None:
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


@pytest.mark.promise("What a reconciler works with", "A deletion callback gets the last state.")
async def test_a_deleted_object_reaches_the_callback_with_its_last_state_until_it_succeeds(
    operator: Operator, clock: VirtualClock
) -> None:
    messages: list[tuple[int, int]] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    @operator.deleted(Thing)
    async def gone(obj: Thing, ctx: Context[Thing]) -> None:
        messages.append((obj.spec.size, ctx.attempt))
        if ctx.attempt == 1:
            raise RuntimeError("the other system is down")

    async with working(operator, clock) as stage:
        stage.put(thing(size=1))
        await clock.settled()
        stage.remove(thing(size=7))
        await clock.advance(60)
    assert messages == [(7, 1), (7, 2)]


async def test_runs_the_callback_for_a_recreated_object_before_its_reconcile(
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
        await clock.settled()
        stage.remove(thing(uid="first"))
        stage.put(thing(uid="second"))
        await clock.settled()
    assert seen == [("reconciled", "first"), ("deleted", "first"), ("reconciled", "second")]


@pytest.mark.promise(
    "What a reconciler works with",
    "An object does not wait for the deletion callback of its predecessor.",
)
@pytest.mark.parametrize("error", [TerminalError("never"), RuntimeError("the other system is down")])
async def test_a_failing_callback_does_not_delay_the_next_object(
    operator: Operator, clock: VirtualClock, error: Exception
) -> None:
    seen: list[tuple[str, str]] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(("reconciled", obj.metadata.uid))

    @operator.deleted(Thing)
    async def gone(obj: Thing, ctx: Context[Thing]) -> None:
        if len(seen) < 3:
            seen.append(("deleted", obj.metadata.uid))
            raise error

    async with working(operator, clock) as stage:
        stage.put(thing(uid="first"))
        await clock.settled()
        stage.remove(thing(uid="first"))
        stage.put(thing(uid="second"))
        await clock.settled()
        assert seen == [("reconciled", "first"), ("deleted", "first"), ("reconciled", "second")]
        ending = "terminal_error" if isinstance(error, TerminalError) else "error"
        assert stage.controller.stats.reconciles == {"success": 1, ending: 1}
        await clock.advance(60)
        assert stage.controller.queue.keys() == set()


@pytest.mark.promise(
    "What a reconciler works with",
    "An object does not wait for the deletion callback of its predecessor.",
)
async def test_retries_a_callback_although_the_next_object_failed_terminally(
    operator: Operator, clock: VirtualClock
) -> None:
    messages: list[int] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        if obj.metadata.uid == "second":
            raise TerminalError("never")

    @operator.deleted(Thing)
    async def gone(obj: Thing, ctx: Context[Thing]) -> None:
        messages.append(ctx.attempt)
        if ctx.attempt == 1:
            raise RuntimeError("the other system is down")

    async with working(operator, clock) as stage:
        stage.put(thing(uid="first"))
        await clock.settled()
        stage.remove(thing(uid="first"))
        stage.put(thing(uid="second"))
        await clock.advance(60)
    assert messages == [1, 2]


async def test_a_deletion_callback_needs_no_reconciler(operator: Operator, clock: VirtualClock) -> None:
    messages: list[str] = []

    @operator.deleted(Thing)
    async def gone(obj: Thing, ctx: Context[Thing]) -> None:
        messages.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing())
        stage.remove(thing())
        await clock.settled()
    assert messages == ["one"]


# Objects that do not fit


@pytest.mark.promise("What the cache keeps", "It fails its own key, with an event, a count and the path of the field.")
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


async def test_logs_an_undecodable_object_once_per_generation_without_its_value(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Ration, resync=60)
    async def sync(obj: Ration, ctx: Context[Ration]) -> None: ...

    def lines() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]

    def put(stage: Stage, revision: int, generation: int, size: str) -> None:
        meta = ObjectMeta(name="one", namespace="default", uid="u", generation=generation)
        made = Ration(metadata=meta, spec=RationSpec())
        meta.resource_version = str(revision)
        stage.put(made, raw=encode(to_dict(made) | {"spec": {"size": size}}))

    async with working(operator, clock) as stage:
        put(stage, 1, 1, "hunter2")
        await clock.advance(3600)
        put(stage, 2, 1, "hunter2")  # another client has written the status
        await clock.advance(3600)
        assert lines() == [
            "Ration default/one: The object does not fit its model: spec.size: the value is not a quantity: expected a"
            " number with an optional suffix (n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as e3), for"
            " example 500m, 1.5Gi or 12e6; it is not reconciled until it changes"
        ]
        assert stage.controller.stats.reconciles["terminal_error"] > 100
        put(stage, 3, 2, "hunter2")
        await clock.settled()
        assert len(lines()) == 2
        put(stage, 4, 3, "5")
        await clock.settled()
        assert stage.controller.stats.reconciles["success"] == 1
        assert "hunter2" not in str(stage.recorded())
    assert "hunter2" not in caplog.text


async def test_logs_a_read_object_that_does_not_fit_without_its_value(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    content = {"metadata": {"name": "one"}, "spec": {"size": "hunter2"}}

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        from_dict(Ration, content)

    async with working(operator, clock) as stage:
        stage.put(thing("a"))
        await clock.settled()
    assert "Ration one: spec.size: the value is not a quantity" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.promise("Reading the cache", "A kind that is not cached is refused with what to do.")
async def test_rejects_reads_of_a_kind_that_is_not_cached_with_the_fix(operator: Operator, clock: VirtualClock) -> None:
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
        await clock.settled()
    assert errors == [
        "Part is not cached: add reads=[Part] (or owns=, watches=) to the reconciler, "
        "or read from the server with ctx.client.get(Part, ...)"
    ]


# Stopping


@pytest.mark.promise("How a reconcile ends", "Stopping lets a running reconcile finish, for a while.")
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


@pytest.mark.promise("How a reconcile ends", "Stopping lets a running reconcile finish, for a while.")
async def test_interrupts_reconciles_after_the_grace_period(operator: Operator) -> None:
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
