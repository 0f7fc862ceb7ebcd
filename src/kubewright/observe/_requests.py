"""`RequestStats`: a hook of the client that counts and times its requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from kubewright.client import Outcome, Request, current_trace
from kubewright.observe._reconcile import Reconcile, Write
from kubewright.queue import Durations

__all__ = ["REQUEST_BUCKETS", "RequestStats"]

REQUEST_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Upper bounds in seconds: those of Kubernetes' own controllers and of controller-runtime."""

_READS = ("GET", "HEAD")
_APPLY = "application/apply-patch+yaml"


class RequestStats:
    """Counts attempts by status and method, and records writes in the running reconcile.

    Each attempt counts, so that 429 responses are visible. A watch counts when it is opened; its lifetime is not a
    request duration. Requests that were cancelled, or rejected before they were sent, do not count.
    """

    def __init__(self, host: str = "none") -> None:
        self.host = host
        self.counts: Counter[tuple[str, str]] = Counter()
        """By status ("<error>" if there was no response) and method."""
        self.retries: Counter[tuple[str, str]] = Counter()
        """Attempts after the first, by the status of the failed attempt and method."""
        self.durations: dict[str, Durations] = {}
        """By method."""

    def __call__(self, request: Request) -> Callable[[Outcome], None]:
        """Called before each attempt. Returns the function to call after it."""
        trace = current_trace()
        reconcile = trace if isinstance(trace, Reconcile) and request.method not in _READS else None

        def finish(outcome: Outcome) -> None:
            if outcome.status or outcome.error is not None:
                self._count(request, outcome)
            if reconcile is not None:
                reconcile.wrote(_write(request, outcome))

        return finish

    def _count(self, request: Request, outcome: Outcome) -> None:
        answer = (str(outcome.status) if outcome.status else "<error>", request.method)
        self.counts[answer] += 1
        if outcome.attempt > 1:
            self.retries[answer] += 1
        if not request.stream:
            durations = self.durations.get(request.method)
            if durations is None:
                durations = self.durations[request.method] = Durations(REQUEST_BUCKETS)
            durations.observe(outcome.seconds)


class _Meta(msgspec.Struct, gc=False):
    name: str = ""


class _Named(msgspec.Struct, gc=False):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


_named_decoder: Final = msgspec.json.Decoder(_Named)


def _name(request: Request) -> str:
    """Returns the object's name, which a create request has only in its body."""
    if request.name or request.verb != "create" or request.body is None:
        return request.name
    try:
        return _named_decoder.decode(request.body).metadata.name
    except msgspec.DecodeError:
        return ""


def _write(request: Request, outcome: Outcome) -> Write:
    verb = "apply" if request.headers.get("Content-Type") == _APPLY else request.verb or request.method.lower()
    return Write(
        verb,
        request.resource or request.path,
        request.namespace,
        _name(request),
        outcome.status,
        outcome.seconds,
    )
