"""`Metrics`: the numbers of an operator as Prometheus reads them.

The operator counts in plain numbers all the time; here they become metrics when somebody asks, and only then is
prometheus_client imported. Names, labels, types and buckets are those of controller-runtime, so that its dashboards and
alerts work; what it does not have begins with `kubewright_`. docs/observability.md has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kubewright.clock import Clock, SystemClock

if TYPE_CHECKING:  # an operator has metrics from the start, and these modules when it runs
    from prometheus_client import CollectorRegistry

    from kubewright.cache import Informer
    from kubewright.election import ElectionStatus
    from kubewright.events import EventRecorder
    from kubewright.observe._inspection import Observed
    from kubewright.observe._requests import RequestStats
    from kubewright.observe._webhooks import Expiring, WebhookStats

__all__ = ["Metrics", "Sources", "Standing"]


def _none() -> Sequence[Any]:
    return ()


class Standing(Protocol):
    """A `LeaderElector`, as far as metrics and pages tell of it."""

    name: str

    @property
    def is_leader(self) -> bool:
        """Whether this process leads now."""

    @property
    def status(self) -> ElectionStatus:
        """How it stands."""


class Sources(msgspec.Struct, kw_only=True):
    """Where numbers come from. Each is asked anew at each scrape, since parts of an operator come and go."""

    controllers: Callable[[], Sequence[Observed]] = _none
    informers: Callable[[], Sequence[Informer[Any]]] = _none
    requests: Callable[[], Sequence[RequestStats]] = _none
    recorders: Callable[[], Sequence[EventRecorder]] = _none
    electors: Callable[[], Sequence[Standing]] = _none
    webhooks: Callable[[], Sequence[WebhookStats]] = _none
    certificates: Callable[[], Sequence[Expiring]] = _none
    clock: Clock | None = None


class Metrics:
    """The metrics of one operator, with a registry of its own; nothing is registered for the whole process.

        operator.metrics.registry.register(my_collector)        # or
        FOOS = Counter("foos", "Foos seen.", registry=operator.metrics.registry)

    `sources` is where the operator puts itself while it runs.
    """

    def __init__(self, sources: Sources | None = None) -> None:
        self.sources = sources or Sources()
        self._registry: CollectorRegistry | None = None

    @property
    def registry(self) -> CollectorRegistry:
        """Where your own collectors go. Those of the operator, the process and Python are there already."""
        if self._registry is None:
            from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

            from kubewright.observe._collector import Collector

            self._registry = registry = CollectorRegistry(auto_describe=False)
            registry.register(Collector(self))
            ProcessCollector(registry=registry)
            PlatformCollector(registry=registry)
            GCCollector(registry=registry)
        return self._registry

    def leave(self, sources: Sources) -> None:
        """What ran has ended: forget these sources, unless others have taken their place."""
        if self.sources is sources:
            self.sources = Sources()

    @property
    def clock(self) -> Clock:
        """The time that ages are told by."""
        return self.sources.clock or SystemClock()

    def render(self, accept: str = "") -> tuple[str, bytes]:
        """The content type and the text, in the format that an `Accept` header asks for: Prometheus' or OpenMetrics'.

        Call it in the operator's event loop. A collector that fails makes it raise.
        """
        from prometheus_client.exposition import choose_encoder

        from kubewright.observe._collector import Canonical

        encode, content_type = choose_encoder(accept)
        registry: Any = self.registry
        if "openmetrics" in content_type:
            registry = Canonical(registry)
        return content_type, encode(registry)
