"""Waiting for the caches at the start, not in silence: what keeps them is said again and again until it is cured."""

from __future__ import annotations

import logging

from kubewright._durations import format_duration
from kubewright.cache import Caches, CacheSyncError

__all__ = ["sync"]

logger = logging.getLogger("kubewright.operator")

_EVERY_SECONDS = 10.0


async def sync(caches: Caches, timeout: float) -> None:
    """Wait until all are synced, and log every ten seconds what is missing. Raises `CacheSyncError` after the time."""
    left = timeout
    while True:
        turn = min(left, _EVERY_SECONDS)
        try:
            return await caches.wait_for_sync(turn)
        except CacheSyncError as error:
            left -= turn
            if left <= 0:
                raise CacheSyncError(timeout, error.reasons) from None
            for kind, reason in error.reasons.items():
                logger.warning("still waiting for %s, for %s more: %s", kind, format_duration(left), reason)
