"""`Tracing`: OpenTelemetry spans for reconciles and their requests.

Only OpenTelemetry's API is used (the extra `otel`), and only if a `Tracing` is created. The program's SDK decides what
is sampled and exported. A reconcile's `ctx.trace` has the ids of its span, so the `traceparent` header, the log records
and the spans name the same trace. The header of a request carries its own span, under which the API server's spans
appear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kubewright.client import Outcome, Request, current_trace
from kubewright.observe._reconcile import Reconcile
from kubewright.observe._stats import Ending

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["Tracing"]

_NAME = "kubewright"


class Tracing:
    """Creates spans with the given tracer provider. Default: the one that the program has set globally.

    Raises `ImportError` with the package to install if OpenTelemetry's API is missing.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            raise ImportError("traces need OpenTelemetry's API: pip install 'kubewright[otel]'") from error
        from kubewright.version import VERSION

        self._api = trace
        self.tracer: Tracer = trace.get_tracer(_NAME, VERSION, provider)

    @property
    def reconcile(self) -> Callable[..., Reconcile]:
        """Creates a `Reconcile` with a span."""
        return partial(_Traced, self)

    def hook(self, request: Request) -> Callable[[Outcome], None] | None:
        """Returns the client's hook: a span for each attempt, inside of the span of its reconcile."""
        parent = current_trace()
        if not isinstance(parent, _Traced) or parent.span is None:
            return None
        span = self.tracer.start_span(
            f"{request.verb or request.method} {request.resource or request.path}",
            context=self._api.set_span_in_context(parent.span),
            kind=self._api.SpanKind.CLIENT,
            attributes=_request_attributes(request),
        )
        if span.get_span_context().is_valid:
            request.headers["traceparent"] = _traceparent(span)

        def finish(outcome: Outcome) -> None:
            span.set_attribute("http.response.status_code", outcome.status)
            span.set_attribute("kubewright.attempt", outcome.attempt)
            if outcome.error is not None:
                span.set_status(self._api.StatusCode.ERROR, outcome.error.status.reason or type(outcome.error).__name__)
            span.end()

        return finish


class _Traced(Reconcile):
    """A reconcile with a span. It has the ids of the span."""

    def __init__(self, tracing: Tracing, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tracing = tracing
        self.span: Span | None = None

    @property
    def traceparent(self) -> str:
        """The value of the header, with the sampling decision of the span."""
        span = self.span
        if span is None or not span.get_span_context().is_valid:
            return super().traceparent
        return _traceparent(span)

    @contextmanager
    def around(self) -> Iterator[None]:
        """Wraps the reconcile in the span, which encloses the reconciler's own spans."""
        api = self._tracing._api
        with self._tracing.tracer.start_as_current_span(
            f"reconcile {self.controller}",
            attributes={
                "kubewright.controller": self.controller,
                "k8s.kind": self.info.kind,
                "k8s.api_version": self.info.api_version,
                "k8s.namespace.name": self.key.namespace,
                "k8s.object.name": self.key.name,
                "kubewright.trigger": self.trigger,
                "kubewright.attempt": self.attempt,
                **({"kubewright.cause": str(self.cause)} if self.cause is not None else {}),
            },
        ) as span:
            context = span.get_span_context()
            if context.is_valid:  # without an SDK there is no span, and the ids are generated here
                self.span = span
                self.__dict__["trace_id"] = api.format_trace_id(context.trace_id)
                self.__dict__["span_id"] = api.format_span_id(context.span_id)
            with self.current():
                yield

    def ended(self, ending: Ending) -> None:
        """Records the result on the span, before the span ends."""
        if self.span is not None:
            self.span.set_attribute("kubewright.result", ending)
            if ending.endswith("error"):
                self.span.set_status(self._tracing._api.StatusCode.ERROR, self.error)


def _request_attributes(request: Request) -> dict[str, str]:
    return {
        "http.request.method": request.method,
        "url.path": request.path,
        "k8s.verb": request.verb,
        "k8s.resource": request.resource,
        "k8s.namespace.name": request.namespace,
        "k8s.object.name": request.name,
    }


def _traceparent(span: Span) -> str:
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags) & 1:02x}"
