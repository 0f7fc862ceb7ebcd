"""Metrics: the expected names, types and labels are those of the registry of controller-runtime 0.25."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from prometheus_client import Counter, parser
from prometheus_client.core import Metric
from prometheus_client.openmetrics import parser as openmetrics

from kubewright.cache import Informer
from kubewright.client import Client
from kubewright.clock import VirtualClock
from kubewright.controller import Context, Result, TerminalError
from kubewright.election import LeaderElector
from kubewright.observe import Metrics, RequestStats, Sources
from kubewright.operator import Operator
from tests.controller.conftest import Stage, Thing, ThingStatus, key, thing, working
from tests.observe.conftest import Agreeable
from tests.transports.disturbed import NoServer

TENS = ["1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05", "0.001", "0.01", "0.1"]
TENS += ["1", "10", "100", "1000", "+Inf"]
RECONCILE = "0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 3.5"
RECONCILE += " 4 4.5 5 6 7 8 9 10 15 20 25 30 40 50 60 +Inf"
REQUEST = "0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60 +Inf"


@dataclass
class Fact:
    type: str
    labels: set[str]
    buckets: list[str] | None = None


FACTS = {
    "controller_runtime_reconcile_total": Fact("counter", {"controller", "result"}),
    "controller_runtime_reconcile_errors_total": Fact("counter", {"controller"}),
    "controller_runtime_terminal_reconcile_errors_total": Fact("counter", {"controller"}),
    "controller_runtime_reconcile_panics_total": Fact("counter", {"controller"}),
    "controller_runtime_reconcile_timeouts_total": Fact("counter", {"controller"}),
    "controller_runtime_reconcile_time_seconds": Fact("histogram", {"controller"}, RECONCILE.split()),
    "controller_runtime_max_concurrent_reconciles": Fact("gauge", {"controller"}),
    "controller_runtime_active_workers": Fact("gauge", {"controller"}),
    "workqueue_depth": Fact("gauge", {"name", "controller", "priority"}),
    "workqueue_adds_total": Fact("counter", {"name", "controller"}),
    "workqueue_queue_duration_seconds": Fact("histogram", {"name", "controller"}, TENS),
    "workqueue_work_duration_seconds": Fact("histogram", {"name", "controller"}, TENS),
    "workqueue_unfinished_work_seconds": Fact("gauge", {"name", "controller"}),
    "workqueue_longest_running_processor_seconds": Fact("gauge", {"name", "controller"}),
    "workqueue_retries_total": Fact("counter", {"name", "controller"}),
    "rest_client_requests_total": Fact("counter", {"code", "method", "host"}),
    "rest_client_request_retries_total": Fact("counter", {"code", "verb", "host"}),
    "rest_client_request_duration_seconds": Fact("histogram", {"verb", "host"}, REQUEST.split()),
    "leader_election_master_status": Fact("gauge", {"name"}),
}


def metrics_of(stage: Stage, electors: Iterable[Any] = ()) -> Metrics:
    return Metrics(
        Sources(
            controllers=lambda: stage.controllers,
            informers=lambda: [*stage.informers.values()],
            requests=lambda: [stage.observer.requests],
            recorders=lambda: [stage.recorder],
            electors=lambda: [*electors],
            clock=stage.clock,
        )
    )


def families(text: bytes) -> dict[str, Metric]:
    """Returns the metric families by the name of their samples."""
    found = {}
    for family in parser.text_string_to_metric_families(text.decode()):
        found[f"{family.name}_total" if family.type == "counter" else family.name] = family
    return found


def value(metrics: Metrics, name: str, /, **labels: str) -> float | None:
    family = families(metrics.render()[1])[name.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum")]
    return next((sample.value for sample in family.samples if (sample.name, sample.labels) == (name, labels)), None)


@pytest.mark.promise(
    "Watching an operator",
    "Metrics have controller-runtime's names, types, labels and buckets, and each result is there from the beginning.",
)
async def test_metrics_match_controller_runtime(operator: Operator, clock: VirtualClock, server: Agreeable) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        await ctx.set_status(ThingStatus(ready=7))

    server.answers = [429, 200]
    async with working(operator, clock, transport=server) as stage:
        stage.put(thing())
        await clock.advance(10)
        elector = LeaderElector(stage.client, "lease", in_thread=False, clock=clock)
        found = families(metrics_of(stage, [elector]).render()[1])
    for name, fact in FACTS.items():
        family = found[name]
        assert family.type == fact.type, name
        assert {label for sample in family.samples for label in sample.labels} - {"le"} == fact.labels, name
        if fact.buckets is not None:
            assert [sample.labels["le"] for sample in family.samples if "le" in sample.labels] == fact.buckets, name
    ours = {name for name in found if not name.startswith(("kubewright_", "process_", "python_"))}
    assert ours == set(FACTS)


@pytest.mark.promise(
    "Watching an operator",
    "Metrics have controller-runtime's names, types, labels and buckets, and each result is there from the beginning.",
)
async def test_exports_every_result_from_the_start(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing, concurrency=3)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    async with working(operator, clock) as stage:
        metrics = metrics_of(stage)
        for result in ("success", "error", "requeue", "requeue_after"):
            assert value(metrics, "controller_runtime_reconcile_total", controller="thing", result=result) == 0
        for name in ("reconcile_errors", "terminal_reconcile_errors", "reconcile_panics", "reconcile_timeouts"):
            assert value(metrics, f"controller_runtime_{name}_total", controller="thing") == 0
        assert value(metrics, "controller_runtime_max_concurrent_reconciles", controller="thing") == 3
        assert value(metrics, "workqueue_depth", name="thing", controller="thing", priority="0") == 0


@pytest.mark.promise(
    "Watching an operator",
    "Results, bugs, timeouts and requests by status are counted.",
)
async def test_metrics_count_every_result(operator: Operator, clock: VirtualClock) -> None:
    endings: dict[str, Any] = {
        "fine": None,
        "again": Result(requeue=True),
        "later": Result(requeue_after=1000),
        "broken": OSError("broken"),
        "final": TerminalError("final"),
        "bug": KeyError("bug"),
    }

    @operator.reconciles(Thing, rate_limiter=lambda: _Slow())
    async def sync(obj: Thing, ctx: Context[Thing]) -> Result | None:
        await ctx.clock.sleep(0.3)
        ending = endings[obj.metadata.name]
        if isinstance(ending, Exception):
            raise ending
        found: Result | None = ending
        return found

    async with working(operator, clock) as stage:
        for name in endings:
            stage.put(thing(name))
        await clock.advance(1)
        metrics = metrics_of(stage)
        total = "controller_runtime_reconcile_total"
        counts = {
            result: value(metrics, total, controller="thing", result=result)
            for result in ("success", "requeue", "requeue_after", "error")
        }
        assert counts == {"success": 1, "requeue": 1, "requeue_after": 1, "error": 3}
        assert value(metrics, "controller_runtime_reconcile_errors_total", controller="thing") == 3
        assert value(metrics, "controller_runtime_terminal_reconcile_errors_total", controller="thing") == 1
        assert value(metrics, "controller_runtime_reconcile_panics_total", controller="thing") == 1
        time = "controller_runtime_reconcile_time_seconds"
        assert value(metrics, f"{time}_count", controller="thing") == 6
        assert value(metrics, f"{time}_bucket", controller="thing", le="0.25") == 0
        assert value(metrics, f"{time}_bucket", controller="thing", le="0.35") == 6
        assert value(metrics, "workqueue_retries_total", name="thing", controller="thing") == 4
        assert value(metrics, "kubewright_history_objects", controller="thing") == 6


class _Slow:
    def when(self, key: object) -> float:
        return 1_000.0

    def forget(self, key: object) -> None: ...

    def retries(self, key: object) -> int:
        return 0


@pytest.mark.promise("Watching an operator", "Caches report size, the health of their watch and undecodable objects.")
async def test_exports_cache_metrics(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    labels = {"group": "example.com", "version": "v1", "kind": "Thing", "selector": ""}
    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
        [informer] = stage.informers.values()
        health = informer._reflectors[None].health
        health.state, health.quiet_since, health.restarts, health.relists = "watching", clock.monotonic(), 2, 1
        health.undecodable = 3
        await clock.advance(90)
        metrics = metrics_of(stage)
        assert value(metrics, "kubewright_cache_objects", **labels) == 1
        snapshot = informer.lister.snapshot(key())
        assert snapshot is not None
        assert value(metrics, "kubewright_cache_bytes", **labels) == len(snapshot.raw)
        assert value(metrics, "kubewright_cache_synced", **labels) == 1
        assert value(metrics, "kubewright_watch_up", **labels) == 1
        assert value(metrics, "kubewright_watch_last_event_age_seconds", **labels) == 90
        assert value(metrics, "kubewright_watch_restarts_total", **labels) == 2
        assert value(metrics, "kubewright_watch_relists_total", **labels) == 1
        assert value(metrics, "kubewright_undecodable_objects_total", **labels) == 3


async def test_reports_worst_watch_of_a_kind(clock: VirtualClock) -> None:
    client = Client(transport=NoServer(), clock=clock)
    many = Informer(client, Thing, namespaces=["a", "b"], clock=clock)
    other = Informer(client, Thing, namespaces=["c"], clock=clock)
    first, second, third = (
        reflector.health for informer in (many, other) for reflector in informer._reflectors.values()
    )
    first.state = third.state = "watching"
    second.state = "waiting"
    second.quiet_since = clock.monotonic()
    await clock.advance(60)
    first.quiet_since = third.quiet_since = clock.monotonic()
    await clock.advance(30)
    first.restarts, third.restarts = 1, 2
    metrics = Metrics(Sources(informers=lambda: [many, other], clock=clock))
    labels = {"group": "example.com", "version": "v1", "kind": "Thing", "selector": ""}
    assert value(metrics, "kubewright_watch_up", **labels) == 0
    assert value(metrics, "kubewright_watch_last_event_age_seconds", **labels) == 90
    assert value(metrics, "kubewright_watch_restarts_total", **labels) == 3


async def test_counts_dropped_and_aggregated_events(operator: Operator, clock: VirtualClock) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        for number in range(30):
            ctx.record(f"Reason{number % 29}", "noise")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
        metrics = metrics_of(stage)
        component = "thing-operator"
        assert value(metrics, "kubewright_events_recorded_total", component=component) == 30
        assert (
            value(metrics, "kubewright_events_dropped_total", component=component, reason="spam") == 4
        )  # the last one is waiting already
        assert value(metrics, "kubewright_events_dropped_total", component=component, reason="rejected") == 0
        assert value(metrics, "kubewright_events_aggregated_total", component=component, how="repeated") == 1
        assert value(metrics, "kubewright_events_waiting", component=component) == 25


def test_merges_excess_priorities() -> None:
    from kubewright.observe._collector import _depths  # private: a queue with forty priorities

    assert dict(_depths({0: 1, 5: 2})) == {"-100": 0, "0": 1, "5": 2}
    assert dict(_depths(dict.fromkeys(range(40), 1))) == {"exceeded_cardinality_limit": 40}


@pytest.mark.promise("Watching an operator", "The Accept header selects the format of metrics.")
def test_accept_header_selects_format() -> None:
    stats = RequestStats("kubernetes:443")
    from kubewright.queue import Durations

    stats.durations["GET"] = Durations((0.5, 1.0))
    metrics = Metrics(Sources(requests=lambda: [stats]))
    content_type, text = metrics.render()
    assert content_type.startswith("text/plain; version=0.0.4")
    assert b'le="1"' in text
    content_type, text = metrics.render("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith(b"# EOF\n")
    assert b'le="1.0"' in text
    assert [*openmetrics.text_string_to_metric_families(text.decode())]  # type: ignore[no-untyped-call]


@pytest.mark.promise(
    "Watching an operator",
    "Each operator has its own registry, with the metrics of the process and of the user.",
)
def test_exports_process_python_and_custom_collectors() -> None:
    first, second = Operator("first").metrics, Operator("second").metrics
    Counter("foos_seen", "Foos.", registry=first.registry).inc(3)
    found = families(first.render()[1])
    for name in (
        "process_open_fds",
        "process_max_fds",
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
        "process_start_time_seconds",
        "python_gc_collections_total",
        "python_info",
    ):
        assert name in found
    assert value(first, "foos_seen_total") == 3
    assert "foos_seen_total" not in families(second.render()[1])


def test_drops_sources_of_stopped_operator() -> None:
    metrics = Metrics()
    first, second = (
        Sources(requests=lambda: [RequestStats("first")]),
        Sources(requests=lambda: [RequestStats("second")]),
    )
    metrics.sources = first
    metrics.sources = second
    metrics.leave(first)
    assert metrics.sources is second
    metrics.leave(second)
    assert "rest_client_requests_total" not in families(metrics.render()[1])


def test_raises_error_of_failing_collector() -> None:
    class Broken:
        def collect(self) -> Iterable[Metric]:
            raise RuntimeError("broken")

    metrics = Metrics()
    metrics.registry.register(Broken())
    with pytest.raises(RuntimeError, match="broken"):
        metrics.render()
