"""How an operator reports that another client overwrites what it applies, on both clusters."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kubewright.api import core, meta
from kubewright.cache import ObjectKey
from kubewright.client import Client, MergePatch
from kubewright.clock import VirtualClock
from kubewright.controller import Context, Reader, Result, TerminalError, Watch
from kubewright.operator import Operator, Running
from kubewright.queue import ExponentialBackoff, KeyState
from tests.operator.conftest import Calls, events, install, settled
from tests.operator.test_context import Box, BoxStatus, box, definition
from tests.patience import until

pytestmark = pytest.mark.clusters


@pytest.fixture(autouse=True)
async def definitions(client: Client) -> None:
    await install(client, definition("Box", "boxes", subresource=True))


class Rival:
    """An operator on a frozen clock. Another program immediately undoes every write to "child"."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.clock = VirtualClock()
        self.operator = Operator("box-operator", namespaces=[namespace], clock=self.clock)

    async def apply_child(self, ctx: Context[Box]) -> core.ConfigMap:
        child = await ctx.apply(config_map("child", "1"))
        if child.data == {"a": "1"}:
            await self.edit({"data": {"a": "theirs"}})
        return child

    async def edit(self, content: dict[str, Any]) -> core.ConfigMap:
        return await self.client.patch(core.ConfigMap, "child", MergePatch(content), self.namespace)

    @asynccontextmanager
    async def in_conflict(self, calls: Calls) -> AsyncIterator[Running]:
        """The operator runs, has put the child back five times, and leaves it now."""
        async with self.operator.running(calls.client, install_crds=False) as running:
            await self.client.create(box(self.namespace))
            await until(lambda: events(self.client, self.namespace, "Contested"))
            await self.settled(running)
            yield running

    async def settled(self, running: Running) -> None:
        """The operator has done what it can, and has seen what the other program made of it."""
        await settled(running)
        await settled(running, await self.client.get(core.ConfigMap, "child", self.namespace))

    def state(self, running: Running) -> KeyState:
        return running.controller(Box).queue.state(ObjectKey(self.namespace, "one"))


@pytest.fixture
def rival(client: Client, namespace: str) -> Rival:
    return Rival(client, namespace)


def config_map(name: str, a: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name), data={"a": a})


@pytest.fixture(autouse=True)
def whole_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubewright.controller")


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    records = [record for record in caplog.records if record.name.startswith("kubewright.controller")]
    return [(record.levelname, record.getMessage()) for record in records]


def writes_to_child(calls: Calls) -> int:
    return len([write for write in calls.writes() if write.endswith("/child")])


async def test_logs_one_warning_and_one_event_and_stops_writing(
    calls: Calls, rival: Rival, caplog: pytest.LogCaptureFixture
) -> None:
    @rival.operator.reconciles(Box, owns=[core.ConfigMap])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        await rival.apply_child(ctx)

    async with rival.in_conflict(calls):
        [event] = await events(rival.client, rival.namespace, "Contested")
    assert event.involved_object.kind == "Box"
    assert "keeps changing data.a" in (event.message or "")
    assert logged(caplog) == [("WARNING", f"Box {rival.namespace}/one: {event.message}")]
    # Created, then read and made an apply once, then put back.
    assert writes_to_child(calls) == 1 + 1 + 5


async def test_continues_the_reconcile_during_a_write_conflict(
    calls: Calls, rival: Rival, client: Client, namespace: str
) -> None:
    returned: list[dict[str, str] | None] = []

    @rival.operator.reconciles(Box, owns=[core.ConfigMap])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        returned.append((await rival.apply_child(ctx)).data)
        await ctx.apply(config_map("other", str(obj.spec.size)))
        await ctx.set_status(BoxStatus(available=obj.spec.size))

    async with rival.in_conflict(calls) as running:
        changed = await client.patch(Box, "one", MergePatch({"spec": {"size": 7}}), namespace)
        await settled(running, changed)
    assert returned[-1] == {"a": "theirs"}
    assert (await client.get(core.ConfigMap, "other", namespace)).data == {"a": "7"}
    status = (await client.get(Box, "one", namespace)).status
    assert status is not None
    assert status.available == 7


async def test_changes_during_the_pause_neither_extend_nor_report_it(
    calls: Calls, rival: Rival, caplog: pytest.LogCaptureFixture
) -> None:
    @rival.operator.reconciles(Box, owns=[core.ConfigMap])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        await rival.apply_child(ctx)

    async with rival.in_conflict(calls) as running:
        for number in range(10):
            seen = await rival.edit({"metadata": {"annotations": {"seen": str(number)}}})
            await settled(running, seen)
        state, stats = rival.state(running), running.controller(Box).stats
        assert (state.ready_in, state.retries) == (10, 0)
        assert set(stats.reconciles) == {"success"}
        assert len(logged(caplog)) == 1
        before = writes_to_child(calls)
        await rival.clock.advance(9)
        assert writes_to_child(calls) == before
        await rival.clock.advance(1)
        await rival.settled(running)
        assert writes_to_child(calls) == before + 1
        assert rival.state(running).ready_in == 20


@pytest.mark.parametrize("ends", ["with a wish", "for good", "with an error"])
async def test_requeues_the_key_after_the_pause_regardless_of_the_result(calls: Calls, rival: Rival, ends: str) -> None:
    triggers: list[str] = []

    @rival.operator.reconciles(Box, owns=[core.ConfigMap], rate_limiter=ExponentialBackoff(100, 1000))
    async def sync(obj: Box, ctx: Context[Box]) -> Result:
        triggers.append(ctx.trigger)
        child = await rival.apply_child(ctx)
        if ends == "for good":
            raise TerminalError("it cannot be done")
        if ends == "with an error" and child.data == {"a": "theirs"}:
            raise ConnectionError("another system is away")
        return Result(requeue_after=3600)

    async with rival.in_conflict(calls) as running:
        assert rival.state(running).ready_in == 10
        triggers.clear()
        await rival.clock.advance(10)
        await settled(running)
    assert triggers[0] == ("retry" if ends == "with an error" else "requeue")


async def test_pauses_two_objects_that_apply_different_content_to_one_child(
    calls: Calls, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    operator = Operator("box-operator", namespaces=[namespace], clock=VirtualClock())

    def boxes(child: core.ConfigMap, reader: Reader) -> list[ObjectKey]:
        return [ObjectKey.of(one) for one in reader.list(Box, namespace)]

    @operator.reconciles(Box, watches=[Watch(core.ConfigMap, map=boxes)])
    async def sync(obj: Box, ctx: Context[Box]) -> None:
        await ctx.apply(config_map("child", obj.metadata.name), owned=False)

    async with operator.running(calls.client, install_crds=False) as running:
        await client.create(box(namespace))
        await client.create(box(namespace, name="two"))
        await until(lambda: events(client, namespace, "Contested"))
        await settled(running)
    assert writes_to_child(calls) <= 2 + 2 + 2 * 5  # created, made an apply, each put back five times
    [(level, message), *_] = logged(caplog)
    assert level == "WARNING"
    assert "this operator also applies it for Box" in message
