"""`Metrics`: the numbers of an operator as Prometheus reads them.

The operator counts in plain numbers. They become metrics when Prometheus scrapes them; the first scrape imports
prometheus_client. Names, labels, types and buckets are those of controller-runtime, so that its dashboards and alerts
work; additional metrics begin with `kubewright_`. docs/observability.md has the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewright.clock import Clock, SystemClock

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from kubewright.observe._sources import Sources

__all__ = ["Metrics"]


class Metrics:
    """The metrics of one operator, in their own registry. Nothing is registered in the process-wide registry.

        operator.metrics.registry.register(my_collector)        # or
        FOOS = Counter("foos", "Foos seen.", registry=operator.metrics.registry)

    While it runs, the operator sets `sources`.
    """

    def __init__(self, sources: Sources | None = None) -> None:
        self._sources = sources
        self._registry: CollectorRegistry | None = None

    @property
    def sources(self) -> Sources:
        """The sources of the numbers. The operator sets them while it runs."""
        if self._sources is None:
            from kubewright.observe._sources import Sources  # imports caches and events, which only a run needs

            self._sources = Sources()
        return self._sources

    @sources.setter
    def sources(self, sources: Sources) -> None:
        self._sources = sources

    @property
    def registry(self) -> CollectorRegistry:
        """The registry for your own collectors. It has those of the operator, the process and Python."""
        if self._registry is None:
            from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

            from kubewright.observe._collector import Collector

            self._registry = registry = CollectorRegistry(auto_describe=False)
            registry.register(Collector(lambda: self.sources))
            ProcessCollector(registry=registry)
            PlatformCollector(registry=registry)
            GCCollector(registry=registry)
        return self._registry

    def leave(self, sources: Sources) -> None:
        """Drops these sources after their operator stopped, unless others have replaced them."""
        if self.sources is sources:
            self._sources = None

    @property
    def clock(self) -> Clock:
        """The clock for ages."""
        return self.sources.clock or SystemClock()

    def render(self, accept: str = "") -> tuple[str, bytes]:
        """Returns the content type and the metrics, as Prometheus text or OpenMetrics, by the `Accept` header.

        Call it in the operator's event loop. Raises the error of a collector that fails.
        """
        from prometheus_client.exposition import choose_encoder

        from kubewright.observe._collector import Canonical

        encode, content_type = choose_encoder(accept)
        registry: Any = self.registry
        if "openmetrics" in content_type:
            registry = Canonical(registry)
        return content_type, encode(registry)
