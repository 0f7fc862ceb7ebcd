"""`Observer`: the controllers and the client of one operator report to it."""

from __future__ import annotations

from collections.abc import Callable

from kubewright.client import RequestHook
from kubewright.observe._history import History, HistoryBounds
from kubewright.observe._reconcile import Reconcile
from kubewright.observe._requests import RequestStats
from kubewright.observe._tracing import Tracing

__all__ = ["Observer"]


class Observer:
    """Counts requests, creates the history of each controller, and starts a span for each reconcile if tracing is
    enabled.

    Args:
        host: the API server, as metrics name it.
        bounds: how much each controller remembers.
        tracing: where spans go. Default: no spans.
    """

    def __init__(
        self, host: str = "none", *, bounds: HistoryBounds | None = None, tracing: Tracing | None = None
    ) -> None:
        self.requests = RequestStats(host)
        self.tracing = tracing
        self.begin: Callable[..., Reconcile] = Reconcile if tracing is None else tracing.reconcile
        """Creates a `Reconcile` that is about to run, with the same arguments."""
        self._bounds = bounds

    @property
    def hooks(self) -> tuple[RequestHook, ...]:
        """The hooks for the requests of the operator's client."""
        # The span's hook comes first, so that the span encloses the request.
        return (self.requests,) if self.tracing is None else (self.tracing.hook, self.requests)

    def history(self) -> History:
        """Returns the history of a new controller."""
        return History(self._bounds)
