"""`Observer`: what the controllers and the client of one operator report to."""

from __future__ import annotations

from collections.abc import Callable

from kubewright.client import RequestHook
from kubewright.observe._history import History, HistoryBounds
from kubewright.observe._reconcile import Reconcile
from kubewright.observe._requests import RequestStats
from kubewright.observe._tracing import Tracing

__all__ = ["Observer"]


class Observer:
    """Counts requests, makes the memory of each controller, and begins a span for each reconcile if asked to.

    Args:
        host: the API server, as metrics name it.
        bounds: how much each controller remembers.
        tracing: where spans go; none are made unless given.
    """

    def __init__(
        self, host: str = "none", *, bounds: HistoryBounds | None = None, tracing: Tracing | None = None
    ) -> None:
        self.requests = RequestStats(host)
        self.tracing = tracing
        self.begin: Callable[..., Reconcile] = Reconcile if tracing is None else tracing.reconcile
        """Makes a `Reconcile`, of the same arguments, that is about to run."""
        self._bounds = bounds

    @property
    def hooks(self) -> tuple[RequestHook, ...]:
        """What the operator's client has to call around its requests."""
        # The span's hook comes first: it begins earlier and ends later than what it tells of.
        return (self.requests,) if self.tracing is None else (self.tracing.hook, self.requests)

    def history(self) -> History:
        """Returns the memory of one more controller."""
        return History(self._bounds)
