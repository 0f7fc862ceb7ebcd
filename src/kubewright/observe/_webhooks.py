"""`WebhookStats`: the counters of a webhook server, by path."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from kubewright.queue import Durations

__all__ = ["WEBHOOK_BUCKETS", "Expiring", "Review", "WebhookStats"]

WEBHOOK_BUCKETS: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Upper bounds in seconds: those of controller-runtime."""

Review: TypeAlias = Literal["allowed", "refused", "failed"]
"""The result of a review. `failed` means that the handler gave no answer, whatever happened to the request."""


class Expiring(Protocol):
    """The part of a certificate that metrics use."""

    @property
    def expires(self) -> datetime:
        """When it expires."""


def _durations() -> Durations:
    return Durations(WEBHOOK_BUCKETS)


class WebhookStats(msgspec.Struct):
    """The counters of a webhook server."""

    requests: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    """By path and HTTP status."""
    reviews: Counter[tuple[str, Review]] = msgspec.field(default_factory=Counter)
    """By path and result."""
    in_flight: Counter[str] = msgspec.field(default_factory=Counter)
    """Requests in progress, by path."""
    latency: dict[str, Durations] = msgspec.field(default_factory=lambda: defaultdict(_durations))
    """Response times, by path."""
    hanging: Collection[object] = ()
    """Calls of plain handlers that timed out and have not returned: each occupies a thread."""
