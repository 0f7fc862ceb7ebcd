"""Operators in this process, remote ones, and unavailable ones."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kubewright import resource
from kubewright.api import Model, Resource, core, meta
from kubewright.cache import ObjectKey
from kubewright.client import MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console.operators import (
    AddressError,
    InProcess,
    ObjectInspection,
    Operators,
    OperatorUnavailable,
    OperatorView,
    Remote,
)
from kubewright.controller import Context
from kubewright.observe import ControllerReport, FailingObjects, LogLine, OperatorReport
from kubewright.operator import Operator
from kubewright.operator.endpoints import HttpServer, Page, PageRequest
from tests.operator.conftest import settled


class LampSpec(Model):
    watts: int = 0


@resource("console.example.com/v1")
class Lamp(Resource[LampSpec, None]):
    """Owns a ConfigMap."""


@pytest.fixture
def operator(cluster_namespace: str) -> Operator:
    made = Operator("lamp-operator", namespaces=[cluster_namespace], health_bind="127.0.0.1:0")

    @made.reconciles(Lamp, owns=[core.ConfigMap])
    async def sync(obj: Lamp, ctx: Context[Lamp]) -> None:
        ctx.log.warning("shines with %d W", obj.spec.watts, extra={"watts": obj.spec.watts})
        await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=obj.metadata.name), data={"w": "x" * 3}))

    return made


@pytest.mark.promise(
    "Objects and operators in the console",
    "An operator reports the same in-process and remotely; responses of other servers are rejected.",
)
async def test_reports_are_equal_in_process_and_remote(
    cluster: Cluster, operator: Operator, cluster_namespace: str
) -> None:
    client, namespace = cluster.client(), cluster_namespace
    async with operator.running(client) as running:
        here: OperatorView = InProcess(running)
        there: OperatorView = Remote(f"127.0.0.1:{running.servers[0].port}")
        one = Lamp(metadata=meta.ObjectMeta(name="one", namespace=namespace), spec=LampSpec(watts=3))
        await settled(running, await client.create(one))
        await settled(running, await client.patch(Lamp, "one", MergePatch({"spec": {"watts": 5}}), namespace))
        key = ObjectKey(namespace, "one")
        try:
            for view in (here, there):
                report = await view.report()
                [controller] = report.controllers
                assert (report.name, controller.name, controller.group, controller.kind) == (
                    "lamp-operator",
                    "lamp",
                    "console.example.com",
                    "Lamp",
                )
                assert [owned.kind for owned in controller.owns] == ["ConfigMap"]
                assert controller.durations is not None
                assert controller.durations.count == sum(controller.reconciles.values()) >= 2
                assert {(cache.kind, cache.objects, cache.state) for cache in report.caches} >= {
                    ("Lamp", 1, "watching")
                }
                found = await view.inspect("lamp", key)
                assert found is not None
                assert found.inspection.results[0].result == "success"
                assert await view.inspect("lamp", ObjectKey(namespace, "other")) is None
                lines = await view.logs("lamp", key)
                assert [line.message for line in lines][-1] == "shines with 5 W"
                assert lines[-1].extra == {"watts": 5}
                assert await view.logs("lamp", ObjectKey(namespace, "other")) == []
            known = await here.inspect("lamp", key)
            assert known is not None
            oldest = len(known.inspection.results) - 1
            before, after = known.values[oldest, 0]
            assert (before, b'"w":"xxx"' in after) == (None, True)
            from_elsewhere = await there.inspect("lamp", key)
            assert from_elsewhere is not None
            assert from_elsewhere.values == {}
        finally:
            await there.close()
    with pytest.raises(OperatorUnavailable, match="has stopped"):
        await here.report()
    with pytest.raises(OperatorUnavailable, match="start it with --health-bind"):
        await there.report()
    await there.close()


@pytest.mark.promise(
    "Objects and operators in the console",
    "An operator reports the same in-process and remotely; responses of other servers are rejected.",
)
@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"not found\n", 404, "or with --debug-pages and secure metrics"),
        (b"ask by an \x1b[31maddress\n", 403, r"refuses this client: ask by an \[31maddress$"),
        (b"{}", 200, "unexpected response"),
        (b'{"at": "2026-01-01T00:00:00Z", "controllers": {"a": 1}}', 200, "unexpected response"),
        (b"[" * 9_000_000, 200, "more than 8388608 bytes"),
    ],
)
async def test_rejects_responses_of_other_servers(body: bytes, status: int, expected: str) -> None:
    async def page(asked: PageRequest) -> Page:
        return Page(body, status)

    async with HttpServer("127.0.0.1:0", {"/debug": page}) as server:
        remote = Remote(f"http://127.0.0.1:{server.port}/")
        try:
            with pytest.raises(OperatorUnavailable, match=expected):
                await remote.report()
        finally:
            await remote.close()


@pytest.mark.parametrize(
    "text", ["", "here", "127.0.0.1", "a b:80", "me@host:80", "host:80/path", "host:port", "x:99999"]
)
def test_address_requires_host_and_port(text: str) -> None:
    with pytest.raises(AddressError, match=r"such as 127\.0\.0\.1:8081"):
        Remote(text)


def test_port_alone_means_loopback() -> None:
    assert Remote("8081").address == "127.0.0.1:8081"
    assert Remote("[::1]:8081").address == "[::1]:8081"


class Scripted:
    """An operator with reports that the test provides."""

    address = "somewhere:1"

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.count = 0
        self.away = False
        self.run = clock.now()
        self.closed = False

    async def report(self) -> OperatorReport:
        if self.away:
            raise OperatorUnavailable("gone fishing")
        self.count += 10
        controller = ControllerReport(
            name="lamp",
            api_version="console.example.com/v1",
            kind="Lamp",
            reconciles={"success": self.count},
            active=0,
            concurrency=1,
            ready=0,
            delayed=0,
            remembered=0,
            remembered_bytes=0,
        )
        return OperatorReport(name="lamps", at=self.clock.now(), started_at=self.run, controllers=(controller,))

    async def failing(self) -> FailingObjects:
        return FailingObjects()

    async def inspect(self, controller: str, key: ObjectKey) -> ObjectInspection | None:
        return None

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        return []

    async def close(self) -> None:
        self.closed = True


async def test_queries_periodically_and_keeps_samples() -> None:
    clock = VirtualClock()
    view = Scripted(clock)
    counts: list[int] = []
    async with Operators(view, clock=clock) as operators:
        [operator] = operators
        stop = operator.subscribe(lambda: counts.append(view.count))
        await clock.advance(2000)
        assert len(operator.samples("lamp")) == 300
        assert operator.samples("lamp")[-1].reconciles == {"success": view.count}
        assert operator.name == "lamps"
        assert counts[:3] == [10, 20, 30]
        stop()
        heard = len(counts)
        await clock.advance(10)
        assert len(counts) == heard
        assert [
            (ref.operator, ref.controller.name) for ref in operators.controllers_of("console.example.com", "Lamp")
        ] == [(operator, "lamp")]
        assert operators.controllers_of("other.example.com", "Lamp") == []
    assert view.closed


@pytest.mark.promise(
    "Objects and operators in the console",
    "The operator's page has charts, queues, caches, watches and the leader, and shows since when one is unavailable.",
)
async def test_unavailable_operator_recovers_with_new_samples() -> None:
    clock = VirtualClock()
    view = Scripted(clock)
    async with Operators(clock=clock) as operators:
        operator = operators.add(view)
        await clock.advance(10)
        view.away = True
        left = clock.now()
        await clock.advance(60)
        away = operator.unavailable_since
        assert away is not None
        assert 0 <= (away - left).total_seconds() <= 2
        assert (operator.problem, operator.name) == ("gone fishing", "lamps")
        assert len(operators.controllers_of("console.example.com", "Lamp")) == 1, "the last report still counts"
        view.away, view.run, view.count = False, clock.now(), 0
        await clock.advance(2)
        assert (operator.unavailable_since, operator.problem) == (None, "")
        assert [one.reconciles["success"] for one in operator.samples("lamp")] == [10]
        await operators.remove(operator)
        assert len(operators) == 0
    assert view.closed


async def test_failing_subscriber_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    heard: list[Any] = []

    def broken() -> None:
        raise ValueError("a page")

    async with Operators(Scripted(clock), clock=clock) as operators:
        [operator] = operators
        operator.subscribe(broken)
        operator.subscribe(lambda: heard.append(1))
        with caplog.at_level(logging.ERROR):
            await clock.settled()
    assert heard == [1]
    assert "cannot update a page" in caplog.text
