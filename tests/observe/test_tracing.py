"""Spans, read from the SDK's own exporter. Their IDs are those in requests and logs."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from kubewright.client import Conflict, current_trace
from kubewright.clock import VirtualClock
from kubewright.controller import BlockingContext, Context, TerminalError
from kubewright.observe import Observer, Tracing
from kubewright.operator import Operator, SettingError
from kubewright.operator._tracing import tracing_of  # private: depends on what a process has imported
from kubewright.operator.settings import Settings
from tests.controller.conftest import Thing, ThingStatus, thing, working
from tests.observe.conftest import Agreeable
from tests.patience import until


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def ids(span: ReadableSpan) -> tuple[str, str]:
    context = span.get_span_context()
    assert context is not None
    return otel.format_trace_id(context.trace_id), otel.format_span_id(context.span_id)


@pytest.mark.promise("Watching an operator", "A reconcile is a span that contains its requests, and all IDs agree.")
async def test_reconcile_span_contains_its_requests(
    operator: Operator,
    clock: VirtualClock,
    server: Agreeable,
    provider: TracerProvider,
    exporter: InMemorySpanExporter,
    caplog: pytest.LogCaptureFixture,
) -> None:
    traces: list[tuple[str, str, str]] = []
    caplog.set_level(logging.INFO)

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        traces.append((ctx.trace.trace_id, ctx.trace.span_id, ctx.trace.traceparent))
        with otel.get_tracer("mine", tracer_provider=provider).start_as_current_span("my own"):
            ctx.log.info("hello")
        await ctx.set_status(ThingStatus(ready=7))

    async with working(operator, clock, transport=server, observer=Observer(tracing=Tracing(provider))) as stage:
        stage.put(thing())
        await clock.settled()
    own, request, reconcile = exporter.get_finished_spans()
    assert reconcile.name == "reconcile thing"
    assert attributes(reconcile) == {
        "kubewright.controller": "thing",
        "k8s.kind": "Thing",
        "k8s.api_version": "example.com/v1",
        "k8s.namespace.name": "default",
        "k8s.object.name": "one",
        "kubewright.trigger": "added",
        "kubewright.attempt": 1,
        "kubewright.result": "success",
    }
    assert (request.name, request.kind) == ("patch things.example.com/status", otel.SpanKind.CLIENT)
    assert attributes(request)["http.response.status_code"] == 200
    assert attributes(request)["k8s.verb"] == "patch"
    assert ids(reconcile) == traces[0][:2]
    for child in (own, request):
        assert child.parent is not None
        assert otel.format_span_id(child.parent.span_id) == traces[0][1]
        assert ids(child)[0] == traces[0][0]
    # The header contains the request's own span, so that the server's spans become its children.
    assert server.requests[0].headers["traceparent"] == f"00-{traces[0][0]}-{ids(request)[1]}-01"
    assert traces[0][2] == f"00-{traces[0][0]}-{traces[0][1]}-01"
    [line] = [record for record in caplog.records if record.getMessage().endswith("hello")]
    assert line.__dict__["trace"] == traces[0][0]


async def test_failure_is_recorded_on_the_span_with_its_attempt(
    operator: Operator, clock: VirtualClock, server: Agreeable, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        if ctx.attempt == 1:
            await ctx.set_status(ThingStatus(ready=7))
        raise TerminalError("no such bank")

    server.answers = [409]
    async with working(operator, clock, transport=server, observer=Observer(tracing=Tracing(provider))) as stage:
        stage.put(thing())
        await clock.advance(1)
    request, first, second = exporter.get_finished_spans()
    assert attributes(request)["http.response.status_code"] == 409
    assert (request.status.status_code, request.status.description) == (otel.StatusCode.ERROR, "Conflict")
    assert (attributes(first)["kubewright.result"], attributes(first)["kubewright.attempt"]) == ("error", 1)
    assert first.status.description is not None
    assert first.status.description.startswith(Conflict.__name__)
    assert (attributes(second)["kubewright.result"], attributes(second)["kubewright.attempt"]) == ("terminal_error", 2)
    assert attributes(second)["kubewright.trigger"] == "retry"
    assert second.status.description == "TerminalError: no such bank"


async def test_unsampled_trace_is_marked_in_the_header(
    operator: Operator, clock: VirtualClock, server: Agreeable
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        await ctx.set_status(ThingStatus(ready=7))

    tracing = Tracing(TracerProvider(sampler=ALWAYS_OFF))
    async with working(operator, clock, transport=server, observer=Observer(tracing=tracing)) as stage:
        stage.put(thing())
        await clock.settled()
    assert server.requests[0].headers["traceparent"].endswith("-00")


@pytest.mark.promise("Watching an operator", "A reconcile is a span that contains its requests, and all IDs agree.")
async def test_reconcile_span_includes_threads(
    operator: Operator, clock: VirtualClock, server: Agreeable, provider: TracerProvider, exporter: InMemorySpanExporter
) -> None:
    @operator.reconciles(Thing)
    def sync(obj: Thing, ctx: BlockingContext[Thing]) -> None:
        ctx.set_status(ThingStatus(ready=7))

    async with working(operator, clock, transport=server, observer=Observer(tracing=Tracing(provider))) as stage:
        stage.put(thing())
        await until(lambda: len(exporter.get_finished_spans()) == 2)
    request, reconcile = exporter.get_finished_spans()
    assert ids(request)[0] == ids(reconcile)[0]


async def test_trace_without_sdk_has_generated_ids(operator: Operator, clock: VirtualClock, server: Agreeable) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        assert current_trace() is ctx.trace
        await ctx.set_status(ThingStatus(ready=7))

    tracing = Tracing(otel.NoOpTracerProvider())
    async with working(operator, clock, transport=server, observer=Observer(tracing=tracing)) as stage:
        stage.put(thing())
        await clock.settled()
        assert stage.controller.stats.reconciles == {"success": 1}
    _, trace_id, span_id, flags = server.requests[0].headers["traceparent"].split("-")
    assert (len(trace_id.strip("0")) > 0, len(span_id.strip("0")) > 0, flags) == (True, True, "01")


def test_tracing_follows_setting_and_defaults_to_imported_sdk() -> None:
    assert tracing_of(Settings(tracing=True)) is not None
    assert tracing_of(Settings(tracing=False)) is None
    assert tracing_of(Settings()) is not None  # this test has imported the SDK


def test_rejects_tracing_without_opentelemetry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(SettingError, match=r"pip install 'kubewright\[otel\]'"):
        tracing_of(Settings(tracing=True))


@pytest.mark.promise("Watching an operator", "Libraries for metrics and traces are imported on first use.")
def test_opentelemetry_is_imported_on_first_use() -> None:
    code = (
        "import sys\n"
        "from kubewright.operator import Operator\n"
        # private: depends on what a process has imported
        "from kubewright.operator._tracing import tracing_of\n"
        "assert tracing_of(Operator('a').settings) is None\n"
        "Operator('a').metrics\n"
        "print(*(name for name in ('opentelemetry', 'prometheus_client') if name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
