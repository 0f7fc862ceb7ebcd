"""`WebhookStats`: what a webhook server counts, by the path of each webhook."""

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
"""How a review ended: failed are those about which nothing could be said, whatever became of the request."""


class Expiring(Protocol):
    """A certificate, as far as metrics tell of it."""

    @property
    def expires(self) -> datetime:
        """When it ends."""


def _durations() -> Durations:
    return Durations(WEBHOOK_BUCKETS)


class WebhookStats(msgspec.Struct):
    """What a server has answered so far."""

    requests: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    """By path and HTTP status."""
    reviews: Counter[tuple[str, Review]] = msgspec.field(default_factory=Counter)
    """By path and how they ended."""
    in_flight: Counter[str] = msgspec.field(default_factory=Counter)
    """Those that are being answered now, by path."""
    latency: dict[str, Durations] = msgspec.field(default_factory=lambda: defaultdict(_durations))
    """How long answers took, by path."""
    hanging: Collection[object] = ()
    """Calls of plain handlers that were given up and have not returned: each keeps a thread."""
