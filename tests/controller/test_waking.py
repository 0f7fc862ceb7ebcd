"""What wakes a key: on a virtual clock, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kubewright import resource
from kubewright.api import ObjectMeta, OwnerReference, Resource
from kubewright.cache import Change, ObjectKey
from kubewright.clock import VirtualClock
from kubewright.controller import (
    Context,
    Owns,
    Reader,
    Watch,
    generation_changed,
    predicate,
)
from kubewright.operator import Operator
from tests.controller.conftest import Part, Stage, Thing, ThingSpec, ThingStatus, key, thing, working


@resource("example.com/v1", scope="Cluster")
class Zone(Resource[ThingSpec, ThingStatus]):
    """What lives in no namespace."""


def part(owner: str, name: str = "p") -> Part:
    reference = OwnerReference(
        api_version="example.com/v1", kind="Thing", name=owner, uid=f"uid-{owner}", controller=True
    )
    meta = ObjectMeta(name=name, namespace="default", uid=f"uid-{name}", owner_references=[reference])
    return Part(metadata=meta, spec=ThingSpec())


@pytest.mark.promise("The queue", "Higher priorities go first, the initial list and resyncs behind what is live.")
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
    await clock.settled()
    assert order == [("live", "added"), ("a", "initial"), ("b", "initial")]
    order.clear()
    await clock.advance(60)
    assert order == [("a", "resync"), ("b", "resync"), ("live", "resync")]
    await stage.controller.stop(grace=5)


@pytest.mark.promise("What wakes a reconciler", "Predicates: generation, labels, annotations, revision.")
async def test_a_predicate_decides_which_changes_count(operator: Operator, clock: VirtualClock) -> None:
    sizes: list[int] = []

    @operator.reconciles(Thing, when=generation_changed)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        sizes.append(obj.spec.size)

    async with working(operator, clock) as stage:
        for size, generation in ((1, 1), (2, 1), (3, 2)):
            stage.put(thing(size=size, generation=generation))
            await clock.settled()
    assert sizes == [1, 3]


@pytest.mark.promise(
    "What wakes a reconciler",
    "They compare confirmed states, so own writes hide no change.",
)
async def test_predicates_compare_confirmed_states_so_own_writes_hide_no_change(
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
        await clock.settled()
        # Another client sets size 2. We write a label on that state before the watch delivers it.
        ours = thing(size=2, generation=2, labels={"seen": "yes"}, resource_version="1000")
        stage.informers[Thing].written(ours)
        assert stage.informers[Thing].lister.snapshots()[0].generation == 2
        stage.put(thing(size=2, generation=2))
        await clock.settled()
        # Compared with what readers see, nothing would have changed, and size 2 would not have been reconciled.
        assert compared == [(1, 2)]
        assert sizes == [1, 2]


ERRORS = pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit, asyncio.CancelledError])


@pytest.mark.promise(
    "What wakes a reconciler",
    "A predicate, map function, index or transform that fails, whatever it raises, spoils that object only.",
)
@ERRORS
async def test_a_predicate_that_fails_lets_the_change_pass(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    seen: list[str] = []

    def broken(change: Change[Any]) -> bool:
        raise error

    @operator.reconciles(Thing, when=broken)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
    assert seen == ["one"]
    assert error.__name__ in caplog.text


@pytest.mark.promise(
    "What wakes a reconciler",
    "A predicate, map function, index or transform that fails, whatever it raises, spoils that object only.",
)
@ERRORS
async def test_a_failing_map_function_affects_only_that_state(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    triggers: list[str] = []

    def mapped(part: Part) -> ObjectKey:
        if part.metadata.name == "broken":
            raise error
        return key()

    @operator.reconciles(Thing, watches=[Watch(Part, map=mapped)])
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        triggers.append(ctx.trigger)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
        stage.put(part("one", "broken"))
        stage.put(part("one", "whole"))
        await clock.settled()
    assert triggers == ["added", "Part added"]
    assert error.__name__ in caplog.text
    place = f"mapped (test_waking.py:{mapped.__code__.co_firstlineno})"
    assert f"{place} of Watch(Part) failed for Part default/broken at" in caplog.text


@pytest.mark.parametrize(
    ("kind", "found", "messages"),
    [
        (
            Thing,
            ["one"],
            "'one' cannot be the key of a Thing, which is namespaced: return ObjectKey(namespace, name), or",
        ),
        (Thing, "one", "'one' cannot be the key of a Thing,"),
        (
            Zone,
            ["default/one"],
            "'default/one' cannot be the key of a Zone, which is cluster-scoped: return",
        ),
        (Thing, 3, "'int' object is not iterable"),
        (Thing, ["default/one"], None),
        (Zone, ["one"], None),
        (Thing, None, None),
    ],
)
async def test_rejects_keys_of_a_map_function_that_the_kind_cannot_have(
    operator: Operator,
    clock: VirtualClock,
    caplog: pytest.LogCaptureFixture,
    kind: type[Thing],
    found: Any,
    messages: str | None,
) -> None:
    seen: list[ObjectKey] = []

    def mapped(part: Part) -> Any:
        return found

    @operator.reconciles(kind, watches=[Watch(Part, map=mapped)])
    async def sync(key: ObjectKey, ctx: Context[Thing]) -> None:
        seen.append(key)

    async with working(operator, clock) as stage:
        stage.put(part("one"))
        await clock.settled()
    if messages is None:
        assert not caplog.records
        assert len(seen) == (found is not None)
    else:
        place = f"mapped (test_waking.py:{mapped.__code__.co_firstlineno})"
        assert f"{place} of Watch(Part) failed for Part default/p" in caplog.text
        assert messages in caplog.text
        assert not seen


@pytest.mark.promise("What wakes a reconciler", "Owned objects wake their owner, known by group and kind.")
async def test_owned_objects_trigger_their_owner(operator: Operator, clock: VirtualClock) -> None:
    triggers: list[str] = []

    @operator.reconciles(Thing, owns=[Owns(Part, when=generation_changed)])
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        triggers.append(ctx.trigger)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
        stage.put(part("one"))
        await clock.settled()
        stage.put(part("one"))  # nothing that the predicate lets pass
        await clock.settled()
        stage.remove(part("one"))
        await clock.settled()
    assert triggers == ["added", "Part added", "Part deleted"]


@pytest.mark.promise("What a reconciler works with", "Owned objects are read by their owner.")
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
        await clock.settled()
    assert owned[-1] == ["p", "q"]


@pytest.mark.promise("What wakes a reconciler", "`watches` maps any object to keys.")
async def test_a_watched_object_triggers_the_mapped_keys_before_and_after_a_change(
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
        await clock.settled()
        seen.clear()
        shared = part("unowned")
        shared.spec.size = 1
        stage.put(shared)
        await clock.settled()
        assert seen == ["one"]
        shared.spec.size = 2
        stage.put(shared)
        await clock.settled()
        assert seen == ["one", "one", "two"]


@pytest.mark.parametrize(
    "answer",
    [lambda name: [key(name)], key, lambda name: str(key(name)), thing],
    ids=["a list", "one key", "its text", "one object"],
)
async def test_a_map_function_may_take_only_the_object_and_return_one_key(
    operator: Operator, clock: VirtualClock, answer: Callable[[str], Any]
) -> None:
    seen: list[str] = []

    @operator.reconciles(Thing, watches=[Watch(Part, map=lambda found: answer(found.metadata.labels["for"]))])
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        seen.append(obj.metadata.name)

    async with working(operator, clock) as stage:
        stage.put(thing("a"))
        await clock.settled()
        shared = part("unowned")
        shared.metadata.labels = {"for": "a"}
        stage.put(shared)
        await clock.settled()
    assert seen == ["a", "a"]


@pytest.mark.promise("What wakes a reconciler", "Keys come from outside too: from an iterator, a queue or a function.")
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


async def test_logs_and_skips_invalid_keys_of_a_trigger(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """An iterator can be used once: if one bad key ended it, the others would be lost until the next start."""
    seen: list[str] = []

    async def names() -> AsyncIterator[Any]:
        for found in ("default/one", "alone", "a/b/c", 7, key("two")):
            yield found

    @operator.reconciles(Thing, triggers=[names()])
    async def sync(name: ObjectKey, ctx: Context[Thing]) -> None:
        seen.append(name.name)

    async with working(operator, clock):
        await clock.settled()
    assert seen == ["one", "two"]
    assert "'alone' cannot be the key of a Thing, which is namespaced" in caplog.text
    assert "a/b/c" in caplog.text
    assert "found 7" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_queue_of_a_module_brings_its_keys_in_each_event_loop(operator: Operator) -> None:
    seen: list[str] = []
    queue: asyncio.Queue[ObjectKey] = asyncio.Queue()
    forgotten = queue.get()

    @operator.reconciles(Thing, triggers=[queue])
    async def sync(name: ObjectKey, ctx: Context[Thing]) -> None:
        seen.append(name.name)

    async def run(name: str) -> None:
        clock = VirtualClock()
        async with working(operator, clock):
            await clock.settled()  # the trigger waits for the queue, in this loop
            queue.put_nowait(key(name))
            await clock.settled()

    async def end_while_the_trigger_waits() -> None:
        forgotten.send(None)

    asyncio.run(end_while_the_trigger_waits())
    asyncio.run(run("first"))
    asyncio.run(run("second"))
    assert seen == ["first", "second"]
    forgotten.close()


@pytest.mark.promise("How a reconcile ends", "Concurrency is a bound, and a key never runs twice at once.")
async def test_a_key_never_runs_twice_at_a_time_and_changes_during_a_run_add_one_run(
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


@pytest.mark.promise("How a reconcile ends", "Concurrency is a bound, and a key never runs twice at once.")
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
