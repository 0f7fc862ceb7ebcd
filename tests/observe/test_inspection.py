"""Inspection of one object while its controller runs in virtual time."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import msgspec
import pytest

from kubewright.api import ObjectMeta, owner_reference
from kubewright.clock import VirtualClock
from kubewright.controller import Context, ReconcileTimeout, Result, TerminalError
from kubewright.observe import DebugPages, FieldChange, Sources, is_loopback
from kubewright.operator import Operator
from tests.controller.conftest import Part, Thing, ThingSpec, ThingStatus, key, thing, working
from tests.observe.conftest import Agreeable


async def test_untouched_object_is_idle(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    async with working(operator, clock) as stage:
        found = stage.controller.inspect(key())
    assert (found.controller, found.kind, found.namespace, found.name) == ("thing", "Thing", "default", "one")
    assert (found.cached, found.queue.state, found.results, found.last_trigger) == (None, "idle", (), "")


@pytest.mark.promise(
    "Watching an operator",
    "Inspection shows the trigger, queue state, attempts, next retry, last error and results of an object.",
)
async def test_results_have_trigger_and_outcome(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing, owns=[Part])
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        await ctx.clock.sleep(2)

    began = clock.now()
    async with working(operator, clock) as stage:
        one = thing()
        stage.put(one)
        await clock.advance(5)
        meta = ObjectMeta(name="wheel", namespace="default", uid="p", owner_references=[owner_reference(one)])
        stage.put(Part(metadata=meta, spec=ThingSpec()))
        await clock.advance(5)
        found = stage.controller.inspect(key())
    newest, oldest = found.results
    assert (oldest.trigger, oldest.cause, oldest.result, oldest.attempt) == ("added", "", "success", 1)
    assert (newest.trigger, newest.cause) == ("Part added", "default/wheel")
    assert found.last_trigger == "Part added (default/wheel)"
    assert [newest.woken_at, newest.began_at, newest.ended_at] == [began + timedelta(seconds=s) for s in (5, 5, 7)]
    assert newest.seconds == 2
    assert found.cached is not None
    assert (found.cached.uid, found.cached.generation, found.cached.deleting) == ("uid-one", 1, False)
    assert found.queue.state == "idle"


@pytest.mark.promise(
    "Watching an operator",
    "Inspection shows the trigger, queue state, attempts, next retry, last error and results of an object.",
)
async def test_queue_state_follows_key(operator: Operator, clock: VirtualClock) -> None:
    gate = asyncio.Event()

    @operator.reconciles(Thing, concurrency=1)
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result:
        await gate.wait()
        return Result(requeue_after=60)

    async with working(operator, clock) as stage:
        stage.put(thing("one"))
        stage.put(thing("two"))
        await clock.advance(3)
        running, waiting = (stage.controller.inspect(key(name)).queue for name in ("one", "two"))
        assert (running.state, running.since, running.runs_again) == (
            "running",
            clock.now() - timedelta(seconds=3),
            False,
        )
        assert (waiting.state, waiting.priority, waiting.trigger) == ("waiting", 0, "added")
        stage.put(thing("one", size=2))
        await clock.settled()
        again = stage.controller.inspect(key("one")).queue
        assert (again.state, again.runs_again, again.trigger) == ("running", True, "updated")
        gate.set()
        await clock.settled()
        delayed = stage.controller.inspect(key("two"))
        assert (delayed.queue.state, delayed.next_retry) == ("delayed", clock.now() + timedelta(seconds=60))


@pytest.mark.promise(
    "Watching an operator",
    "Inspection shows the trigger, queue state, attempts, next retry, last error and results of an object.",
)
async def test_failure_shows_error_attempts_and_next_retry(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        raise ConnectionError("the bank does not answer")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(0.012)
        found = stage.controller.inspect(key())
        assert found.last_error == "ConnectionError: the bank does not answer"
        assert (found.attempt, found.queue.retries) == (2, 2)
        assert [result.trigger for result in found.results] == ["retry", "added"]
        assert found.last_error_at == found.results[0].ended_at
        assert found.next_retry is not None
        assert (found.next_retry - found.results[0].ended_at).total_seconds() == pytest.approx(0.010, abs=0.001)
        stats = stage.controller.stats
        assert (stats.bugs, stats.timeouts) == (0, 0)


@pytest.mark.promise(
    "Watching an operator",
    "Results, bugs, timeouts and requests by status are counted.",
)
async def test_counts_bugs_and_timeouts_separately(operator: Operator, clock: VirtualClock) -> None:
    errors: dict[str, Exception] = {
        "bug": AttributeError("'NoneType' object has no attribute 'spec'"),
        "final": TerminalError("no such bank"),
        "world": OSError("no route"),
    }

    @operator.reconciles(Thing, timeout=10, rate_limiter=lambda: _Never())
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        if obj.metadata.name in errors:
            raise errors[obj.metadata.name]
        await ctx.clock.sleep(60)

    async with working(operator, clock) as stage:
        for name in (*errors, "slow"):
            stage.put(thing(name))
        await clock.advance(20)
        stats = stage.controller.stats
        assert (stats.bugs, stats.timeouts) == (1, 1)
        assert stats.reconciles == {"error": 3, "terminal_error": 1}
        assert stage.controller.inspect(key("slow")).last_error.startswith(ReconcileTimeout.__name__)
        assert stage.controller.inspect(key("final")).results[0].result == "terminal_error"


class _Never:
    def when(self, key: object) -> float:
        return 10**6

    def forget(self, key: object) -> None: ...

    def retries(self, key: object) -> int:
        return 0


async def test_writes_have_changed_fields_without_values(
    operator: Operator, clock: VirtualClock, server: Agreeable
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        await ctx.set_status(ThingStatus(ready=7))
        await ctx.create(Part(metadata=ObjectMeta(name="wheel"), spec=ThingSpec(size=3)), owned=False)
        await ctx.delete(Part, "old")

    server.answers = [200, 200, 503]
    async with working(operator, clock, transport=server) as stage:
        stage.put(thing(size=7))
        await clock.advance(60)
        [*_, first] = stage.controller.inspect(key()).results
    written = [(write.verb, write.resource, write.name, write.status) for write in first.writes]
    assert written[:3] == [
        ("apply", "things.example.com/status", "one", 200),
        ("create", "parts.example.com", "wheel", 200),
        ("delete", "parts.example.com", "old", 503),
    ]
    assert first.writes[0].changes == (FieldChange(op="add", path="/status"),)
    assert first.writes[2].changes is None
    assert len(first.trace) == 32


@pytest.mark.promise("Watching an operator", "Inspection shows the writes of an object by field, without values.")
async def test_inspection_is_json_without_values(operator: Operator, clock: VirtualClock, server: Agreeable) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        await ctx.set_status(ThingStatus(ready=424242))

    async with working(operator, clock, transport=server) as stage:
        stage.put(thing(size=737373))
        await clock.settled()
        text = msgspec.json.encode(stage.controller.inspect(key())).decode()
    content = json.loads(text)
    assert content["queue"]["state"] == "idle"
    assert content["results"][0]["writes"][0]["resource"] == "things.example.com/status"
    assert "424242" not in text
    assert "737373" not in text


async def test_debug_pages_respond_with_json(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        raise TerminalError("no such bank")

    async with working(operator, clock) as stage:
        for name in ("one", "two"):
            stage.put(thing(name))
        await clock.settled()
        pages = DebugPages(Sources(controllers=lambda: stage.controllers))

        def ask(path: str) -> tuple[int, dict[str, object]]:
            status, body = pages.answer(path)
            return status, json.loads(body)

        status, content = ask("")
        assert status == 200
        [summary] = msgspec.convert(content["controllers"], list[dict[str, object]])
        assert (summary["name"], summary["reconciles"], summary["remembered"]) == ("thing", {"terminal_error": 2}, 2)
        status, content = ask("/objects")
        listed = msgspec.convert(content["objects"], list[dict[str, str]])
        assert [(one["name"], one["error"]) for one in listed] == [
            ("two", "TerminalError: no such bank"),
            ("one", "TerminalError: no such bank"),
        ]
        status, content = ask("/objects/thing/default/one")
        assert (status, content["lastError"]) == (200, "TerminalError: no such bank")
        assert ask("/objects/thing/default/three") == (
            404,
            {"error": "controller 'thing' has no record of object default/three"},
        )
        assert ask("/objects/gadget/one") == (
            404,
            {"error": "there is no controller 'gadget'; there are: thing"},
        )
        assert ask("/else")[0] == 404


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("127.5.0.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
    ],
)
def test_recognizes_loopback_hosts(host: str, here: bool) -> None:
    assert is_loopback(host) is here


@pytest.mark.promise(
    "Watching an operator",
    "Debug pages are on loopback alone unless asked for, and for no foreign name. Elsewhere they need authorization.",
)
def test_rejects_requests_for_foreign_host_names() -> None:
    assert DebugPages.may_ask("127.0.0.1:8080")
    assert DebugPages.may_ask("[::1]:8080")
    assert DebugPages.may_ask("localhost")
    assert not DebugPages.may_ask("rebound.evil.example:8080")
    assert not DebugPages.may_ask("")
