"""Controllers that keep triggering each other, and writes that trigger no reconcile, on both clusters."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kubewright.api import core, meta
from kubewright.cache import ObjectKey
from kubewright.client import Client, MergePatch
from kubewright.clock import VirtualClock
from kubewright.controller import Context, Result
from kubewright.deployment import examine
from kubewright.observe import report
from kubewright.operator import Operator, Running
from tests.operator.conftest import Calls, events, settled
from tests.operator.test_status_ownership import Site, SiteStatus, site, status, status_writes
from tests.patience import until

pytestmark = pytest.mark.clusters


class Ticks:
    """A value that is never the same."""

    def __init__(self) -> None:
        self.number = 0

    def __str__(self) -> str:
        self.number += 1
        return str(self.number)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    return [message for message in found if "write loop" in message]


async def looping(client: Client, namespace: str, clock: VirtualClock) -> None:
    """Wait for the warning. Time goes on, for the backoff after a conflict."""

    async def warned() -> Any:
        await clock.advance(0.02)
        return await events(client, namespace, "WriteLoop")

    await until(warned)


async def rest(*runnings: Running) -> None:
    """Wait until all of them have nothing to do any more; a key that has to wait does not count."""
    for _ in range(3):
        for running in runnings:
            await settled(running)


async def test_two_controllers_that_set_one_field_are_slowed_down_with_a_warning(
    calls: Calls, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = VirtualClock()
    operator = Operator("site-operator", namespaces=[namespace], clock=clock)
    specs: list[str] = []

    @operator.reconciles(Site, name="one")
    async def one(obj: Site, ctx: Context[Site]) -> None:
        specs.append(obj.spec.image)
        await ctx.set_status(SiteStatus(available=1))

    @operator.reconciles(Site, name="two")
    async def two(obj: Site, ctx: Context[Site]) -> None:
        await ctx.set_status(SiteStatus(available=2))

    async with operator.running(calls.client) as running:
        await client.create(site(namespace))
        await looping(client, namespace, clock)
        await rest(running)
        first = warnings(caplog)[0]
        assert f"triggered only by changes of the status of Site {namespace}/one" in first
        assert "wrote it again (status.available)" in first
        assert "site-operator-" in first
        assert "-status" in first
        assert sum(one.stats.write_loops for one in running.controllers) >= 1

        before = status_writes(calls)
        for _ in range(6):
            await clock.advance(10)
            await rest(running)
        assert status_writes(calls) - before < 2 * 20, "each write is refused once before it is forced"

        specs.clear()
        changed = await client.patch(Site, "one", MergePatch({"spec": {"image": "caddy"}}), namespace)
        await settled(running, changed)
        assert specs[0] == "caddy", "a new spec does not wait"


async def test_two_operators_that_each_write_the_time_are_slowed_down(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock, writes = VirtualClock(), Ticks()
    operators = [Operator(f"operator-{name}", namespaces=[namespace], clock=clock) for name in "ab"]

    def register(operator: Operator, field: str) -> None:
        @operator.reconciles(Site)
        async def sync(obj: Site, ctx: Context[Site]) -> None:
            await ctx.patch_status({field: str(writes)})

    for operator, field in zip(operators, ("address", "note"), strict=True):
        register(operator, field)
    async with AsyncExitStack() as stack:
        runnings = [await stack.enter_async_context(operator.running(client)) for operator in operators]
        await client.create(site(namespace))
        await looping(client, namespace, clock)
        await rest(*runnings)
        before = writes.number
        for _ in range(6):
            await clock.advance(10)
            await rest(*runnings)
        assert writes.number - before < 20
    assert "status.address" in " ".join(warnings(caplog)) or "status.note" in " ".join(warnings(caplog))


async def test_a_status_that_differs_each_time_does_not_wake_its_own_controller(
    operator: Operator, client: Client, namespace: str
) -> None:
    ticks, seen = Ticks(), []

    @operator.reconciles(Site, name="writes")
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status(note=str(ticks))

    @operator.reconciles(Site, name="looks")
    async def look(obj: Site, ctx: Context[Site]) -> None:
        seen.append(obj.status.note)

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)))
        await rest(running)
        assert ticks.number <= 2, "the event can arrive before the answer"
        assert seen[-1] == str(ticks.number), "other controllers are woken"


async def test_an_object_is_reconciled_once_for_a_child_and_a_status(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site, owns=[core.ConfigMap])
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="child"), data={"a": "1"}))
        await ctx.set_status(SiteStatus(available=1))

    @operator.finalizes(Site)
    async def clean(obj: Site, ctx: Context[Site]) -> None: ...

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)))
        await rest(running)
        stats = running.controller(Site).stats
        assert sum(stats.reconciles.values()) <= 2, "the event can arrive before the answer"
        await client.patch(core.ConfigMap, "child", MergePatch({"data": {"a": "2"}}), namespace)

        async def repaired() -> bool:
            return (await client.get(core.ConfigMap, "child", namespace)).data == {"a": "1"}

        await until(repaired)


async def test_a_change_of_others_right_after_an_own_write_wakes(
    operator: Operator, client: Client, namespace: str
) -> None:
    labels: list[Any] = []

    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        labels.append(obj.metadata.labels)
        await ctx.set_status(SiteStatus(available=1))
        if not obj.metadata.labels:
            await client.patch(Site, "one", MergePatch({"metadata": {"labels": {"by": "others"}}}), namespace)

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)))
        await until(lambda: _true(labels[-1] == {"by": "others"}))


async def test_a_reconciler_that_adds_its_own_finalizer_and_returns_is_woken(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        if "example.com/mine" not in obj.metadata.finalizers:
            obj.metadata.finalizers.append("example.com/mine")
            await ctx.update(obj)
            return
        await ctx.set_status(SiteStatus(available=1))

    async with operator.running(client):
        await client.create(site(namespace))
        await client.wait_for(Site, "one", lambda one: one.status.available == 1, namespace)


async def test_a_reconciler_that_creates_a_child_and_returns_is_woken(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site, owns=[core.ConfigMap])
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        if ctx.get(core.ConfigMap, "child") is None:
            await ctx.create(core.ConfigMap(metadata=meta.ObjectMeta(name="child")))
            return
        await ctx.set_status(SiteStatus(available=1))

    async with operator.running(client):
        await client.create(site(namespace))
        await client.wait_for(Site, "one", lambda one: one.status.available == 1, namespace)


async def test_a_state_machine_in_the_status_asks_to_be_called_again(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> Result | None:
        if obj.status.available < 3:
            await ctx.patch_status(available=obj.status.available + 1)
            return Result(requeue=True)
        return None

    async with operator.running(client):
        await client.create(site(namespace))
        await client.wait_for(Site, "one", lambda one: one.status.available == 3, namespace)


async def test_a_condition_of_its_own_does_not_cut_the_backoff_of_a_failing_key_short(
    client: Client, namespace: str
) -> None:
    clock, attempts = VirtualClock(), Ticks()
    operator = Operator("site-operator", namespaces=[namespace], clock=clock)

    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        ctx.set_condition("Ready", False, "Down", f"attempt {attempts}")
        raise ConnectionError("another system is away")

    @operator.reconciles(Site, name="other")
    async def other(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status(note=str(obj.status.conditions))

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)))
        await rest(running)
        assert attempts.number <= 2


async def test_changes_of_others_cut_a_backoff_short_at_a_limited_rate(client: Client, namespace: str) -> None:
    clock, attempts = VirtualClock(), Ticks()
    operator = Operator("site-operator", namespaces=[namespace], clock=clock)

    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        str(attempts)
        raise ConnectionError("another system is away")

    async with operator.running(client) as running:
        await settled(running, await client.create(site(namespace)))
        for _ in range(11):  # so that the backoff is some seconds long
            await clock.advance(10)
            await rest(running)
        before = attempts.number
        for number in range(10):
            patch = MergePatch({"status": {"note": str(number)}})
            changed = await client.patch(Site, "one", patch, namespace, subresource="status")
            await settled(running, changed)
        assert attempts.number - before == 1, "the first at once, the others later"
        changed = await client.patch(Site, "one", MergePatch({"spec": {"image": "caddy"}}), namespace)
        await settled(running, changed)
        assert attempts.number - before == 2, "a new spec is tried at once"


async def _true(value: bool) -> bool:
    return value


@pytest.fixture
def operator(namespace: str) -> Operator:
    return Operator("site-operator", namespaces=[namespace])


async def test_writes_final_status_during_a_write_conflict(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its cause is another object, and does not wait."""
    clock = VirtualClock()
    operator = Operator("site-operator", namespaces=[namespace], clock=clock)

    @operator.reconciles(Site, name="one", owns=[core.ConfigMap])
    async def one(obj: Site, ctx: Context[Site]) -> None:
        child = ctx.get(core.ConfigMap, "child")
        done = child is not None and (child.data or {}).get("done")
        await ctx.patch_status(note="done" if done else "waiting", available=1)

    @operator.reconciles(Site, name="two")
    async def two(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status(available=2)

    async with operator.running(client) as running:
        made = await client.create(site(namespace))
        await looping(client, namespace, clock)
        await rest(running)
        owner = meta.OwnerReference(
            api_version="ownership.example.com/v1", kind="Site", name="one", uid=made.metadata.uid, controller=True
        )
        child = meta.ObjectMeta(name="child", namespace=namespace, owner_references=[owner])
        await client.create(core.ConfigMap(metadata=child, data={"done": "yes"}))
        await until(lambda: _has_note(client, namespace, "done"))


async def _has_note(client: Client, namespace: str, note: str) -> bool:
    return (await status(client, namespace)).get("note") == note


async def test_inspection_and_doctor_show_a_write_loop(client: Client, namespace: str) -> None:
    clock = VirtualClock()
    operator = Operator(f"operator-{namespace}", namespaces=[namespace], clock=clock)

    @operator.reconciles(Site, name="one")
    async def one(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status(available=1)

    @operator.reconciles(Site, name="two")
    async def two(obj: Site, ctx: Context[Site]) -> None:
        await ctx.patch_status(available=2)

    async with operator.running(client) as running:
        await client.create(site(namespace))
        await looping(client, namespace, clock)
        await rest(running)
        lines = [controller.inspect(ObjectKey(namespace, "one")).write_loop for controller in running.controllers]
        assert any(f"in a write loop over the status of Site {namespace}/one" in line for line in lines)
        assert sum(one.write_loops for one in report(running.sources).controllers) >= 1
        assert b"kubewright_write_loops_total" in operator.metrics.render()[1]
        findings = [finding async for finding in examine(client, [operator], [Site])]
    [loop] = [finding for finding in findings if "write loop" in finding.what]
    assert loop.state == "warning"
    assert loop.what == f"operator {operator.name} is in a write loop: Site {namespace}/one"
    assert "status.available" in loop.advice
