"""Objects that users pause with an annotation, on both clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import Client, MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.operator import Operator, Running
from kubewright.pausing import PAUSE_ANNOTATION, pause_of
from tests.operator.conftest import events, find, settled
from tests.patience import until


class JarSpec(kw.Model):
    size: int = 0


class JarStatus(kw.Model):
    size: int = 0
    conditions: list[meta.Condition] = msgspec.field(default_factory=list)


@kw.resource("pausing.example.com/v1")
class Jar(kw.Resource[JarSpec, JarStatus]):
    """A kind whose status has conditions."""


def jar(namespace: str, **annotations: str) -> Jar:
    return Jar(metadata=meta.ObjectMeta(name="one", namespace=namespace, annotations=annotations), spec=JarSpec(size=1))


def annotated(value: str | None, annotation: str = PAUSE_ANNOTATION) -> MergePatch:
    return MergePatch({"metadata": {"annotations": {annotation: value}}})


def paused_condition(obj: Jar) -> meta.Condition | None:
    return next((one for one in obj.status.conditions if one.type == "Paused"), None)


class Seen:
    """An operator that records the sizes that it has reconciled."""

    def __init__(self, namespace: str, **options: Any) -> None:
        self.operator = Operator("jar-operator", namespaces=[namespace], **options)
        self.sizes: list[int] = []
        self.failing = False

        @self.operator.reconciles(Jar, owns=[core.ConfigMap], when=kw.generation_changed)
        async def sync(obj: Jar, ctx: kw.Context[Jar]) -> None:
            self.sizes.append(obj.spec.size)
            if self.failing:
                raise RuntimeError("the shelf is full")
            await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name="one"), data={"size": str(obj.spec.size)}))
            await ctx.patch_status(size=obj.spec.size)


def resized(size: int) -> MergePatch:
    return MergePatch({"spec": {"size": size}})


@asynccontextmanager
async def virtual(operator: Operator, clock: VirtualClock) -> AsyncIterator[tuple[Running, Client]]:
    """Runs an operator on an embedded cluster in virtual time."""
    async with (
        Cluster(clock=clock) as cluster,
        cluster.client() as client,
        operator.running(cluster, clock=clock) as running,
    ):
        yield running, client


@pytest.fixture
async def seen(namespace: str) -> Seen:
    return Seen(namespace)


@pytest.fixture
async def running(seen: Seen, client: Client) -> AsyncIterator[Running]:
    async with seen.operator.running(client) as running:
        yield running


@pytest.mark.clusters
@pytest.mark.promise(
    "Running an operator",
    "A paused object is not reconciled, its condition `Paused` says so, and resuming reconciles it immediately.",
)
async def test_does_not_reconcile_a_paused_object_until_it_is_resumed(
    seen: Seen, running: Running, client: Client, namespace: str
) -> None:
    await settled(running, await client.create(jar(namespace)))
    await settled(running, await client.patch(Jar, "one", annotated("true"), namespace))
    await settled(running, await client.patch(Jar, "one", resized(2), namespace))
    await client.delete(core.ConfigMap, "one", namespace)

    async def shown() -> bool:
        condition = paused_condition(await client.get(Jar, "one", namespace))
        return condition is not None and condition.status == "True" and condition.reason == "PausedByAnnotation"

    await until(shown)
    assert seen.sizes == [1]
    assert await find(client, core.ConfigMap, "one", namespace) is None
    assert running.inspect(Jar, "one", namespace).paused == 'by the annotation kubewright.dev/paused="true"'
    assert running.controller(Jar).paused_objects == 1
    kept = await client.get(Jar, "one", namespace)
    assert {one.manager for one in kept.metadata.managed_fields if one.subresource == "status"} == {
        "jar-operator-jar-status"
    }
    assert kept.status.size == 1  # other fields of the status stay

    await client.patch(Jar, "one", annotated(None), namespace)

    async def resumed() -> bool:
        found = await client.get(Jar, "one", namespace)
        return found.status.size == 2 and paused_condition(found) is None

    await until(resumed)
    assert await find(client, core.ConfigMap, "one", namespace) is not None
    assert (running.inspect(Jar, "one", namespace).paused, running.controller(Jar).paused_objects) == ("", 0)


@pytest.mark.clusters
async def test_removes_the_condition_of_an_object_that_was_resumed_while_no_operator_ran(
    seen: Seen, client: Client, namespace: str
) -> None:
    async with seen.operator.running(client) as running:
        await settled(running, await client.create(jar(namespace, **{PAUSE_ANNOTATION: "true"})))
        await until(lambda: _has_condition(client, namespace))
    assert seen.sizes == []
    await client.patch(Jar, "one", annotated(None), namespace)
    async with seen.operator.running(client):

        async def cleared() -> bool:
            return not await _has_condition(client, namespace)

        await until(cleared)
    assert seen.sizes[:1] == [1]


async def _has_condition(client: Client, namespace: str) -> bool:
    return paused_condition(await client.get(Jar, "one", namespace)) is not None


@pytest.mark.clusters
async def test_a_deletion_waits_while_the_object_is_paused(seen: Seen, client: Client, namespace: str) -> None:
    finalized: list[str] = []

    @seen.operator.finalizes(Jar)
    async def clean(obj: Jar, ctx: kw.Context[Jar]) -> None:
        finalized.append(obj.metadata.name)

    async with seen.operator.running(client) as running:
        await settled(running, await client.create(jar(namespace)))
        await settled(running, await client.patch(Jar, "one", annotated("true"), namespace))
        await client.delete(Jar, "one", namespace)

        async def reported() -> bool:
            return bool(await events(client, namespace, "DeletionPaused"))

        await until(reported)
        [event] = await events(client, namespace, "DeletionPaused")
        assert "pausing.example.com/jar-operator" in (event.message or "")
        assert finalized == []
        assert "its deletion waits" in running.inspect(Jar, "one", namespace).paused
        await client.patch(Jar, "one", annotated(None), namespace)

        async def gone() -> bool:
            return await find(client, Jar, "one", namespace) is None

        await until(gone)
    assert finalized == ["one"]


async def test_a_failing_object_is_not_retried_while_it_is_paused() -> None:
    clock = VirtualClock()
    seen = Seen("default")
    seen.failing = True
    async with virtual(seen.operator, clock) as (running, client):
        await client.create(jar("default"))
        await running.settled()
        await client.patch(Jar, "one", annotated("true"), "default")
        await running.settled()
        tries = len(seen.sizes)
        failures = running.controller(Jar).stats.reconciles["error"]
        await clock.advance(3600)
        await running.settled()
        assert len(seen.sizes) == tries
        assert running.controller(Jar).stats.reconciles["error"] == failures
        seen.failing = False
        await client.patch(Jar, "one", annotated("false"), "default")
        await running.settled()  # without any advance: the backoff of the failures does not count
        assert len(seen.sizes) == tries + 1


async def test_timers_and_daemons_stop_while_the_object_is_paused() -> None:
    clock = VirtualClock()
    calls: list[str] = []
    operator = Operator("jar-operator")

    @operator.every(Jar, "30s")
    async def poll(obj: Jar, ctx: kw.Context[Jar]) -> None:
        calls.append("poll")

    @operator.daemon(Jar)
    async def follow(obj: Jar, ctx: kw.Context[Jar]) -> None:
        calls.append("started")
        try:
            await ctx.clock.sleep(1e6)
        finally:
            calls.append("ended")

    async with virtual(operator, clock) as (running, client):
        await client.create(jar("default"))
        await running.settled()
        assert sorted(calls) == ["poll", "started"]
        await client.patch(Jar, "one", annotated("true"), "default")
        await running.settled()
        assert calls[2:] == ["ended"]
        await clock.advance(300)
        await running.settled()
        assert calls[3:] == []
        await client.patch(Jar, "one", annotated(None), "default")
        await running.settled()
        assert sorted(calls[3:]) == ["poll", "started"]
        await clock.advance(31)
        await running.settled()
        assert calls[5:] == ["poll"]


async def test_the_annotation_is_configurable() -> None:
    seen = Seen("default", pause_annotation="example.com/hold")
    async with Cluster() as cluster, cluster.client() as client, seen.operator.running(client) as running:
        await client.create(jar("default", **{PAUSE_ANNOTATION: "true"}))
        await running.settled()
        assert seen.sizes == [1]
        await client.patch(Jar, "one", annotated("true", "example.com/hold"), "default")
        await client.patch(Jar, "one", resized(2), "default")
        await running.settled()
        assert seen.sizes == [1]


@pytest.mark.parametrize("value", ["true", "True", "yes", "1", "on", "", "no", " TRUE "])
def test_every_value_except_false_pauses(value: str) -> None:
    assert pause_of({PAUSE_ANNOTATION: value}) == f'{PAUSE_ANNOTATION}="{value}"'


@pytest.mark.parametrize("annotations", [{}, {PAUSE_ANNOTATION: "false"}, {PAUSE_ANNOTATION: " False"}])
def test_false_and_an_absent_annotation_do_not_pause(annotations: dict[str, str]) -> None:
    assert pause_of(annotations) == ""


def test_a_long_value_with_control_characters_is_shown_on_one_short_line() -> None:
    shown = pause_of({PAUSE_ANNOTATION: "\x1b[31m\n" + "x" * 1000})
    assert shown.isprintable()
    assert len(shown) < 100


@pytest.mark.parametrize("key", ["", "a/b/c", "-x", "Example.com/x"])
def test_rejects_an_invalid_annotation(key: str) -> None:
    with pytest.raises(ValueError, match=r"the key of an annotation, such as example.com/paused"):
        Operator("jar-operator", pause_annotation=key)
