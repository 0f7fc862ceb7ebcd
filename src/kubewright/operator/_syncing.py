"""Waiting for the caches at the start, not in silence: what keeps them is said again and again until it is cured."""

from __future__ import annotations

import contextlib
import logging

from kubewright.cache import Caches, CacheSyncError
from kubewright.client import Client, Forbidden, RetryPolicy
from kubewright.durations import format_duration

__all__ = ["reach", "sync"]

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


async def reach(client: Client, within: float) -> None:
    """Fail at once, and in one sentence, where no cache could ever fill: bad credentials, something else's address.

    A server that is away is tried again, but not for longer than the caches would have.
    """
    retry = RetryPolicy(deadline=min(RetryPolicy().deadline, within))
    asking = client.through(lambda transport: transport, retry=retry, timeout=min(60.0, within))
    with contextlib.suppress(Forbidden):  # whoever may not ask for the version may still do the work
        await asking.server_version()
