"""Waits for the API server and the caches at the start, and logs the reasons for the wait."""

from __future__ import annotations

import contextlib
import logging
from typing import Final

from kubewright.cache import Caches, CacheSyncError
from kubewright.client import Client, Forbidden, RetryPolicy
from kubewright.durations import format_duration

__all__ = ["check_connection", "wait_for_sync"]

logger = logging.getLogger("kubewright.operator")

_LOG_INTERVAL: Final = 10.0


async def wait_for_sync(caches: Caches, timeout: float) -> None:
    """Waits until all caches are in sync, and logs every ten seconds which are not. Raises `CacheSyncError`."""
    left = timeout
    while True:
        turn = min(left, _LOG_INTERVAL)
        try:
            return await caches.wait_for_sync(turn)
        except CacheSyncError as error:
            left -= turn
            if left <= 0:
                raise CacheSyncError(timeout, error.reasons) from None
            for kind, reason in error.reasons.items():
                logger.warning("still waiting for %s, for %s more: %s", kind, format_duration(left), reason)


async def check_connection(client: Client, timeout: float) -> None:
    """Fails immediately if no cache could ever fill: invalid credentials, or an address of another server.

    Retries while the server cannot be reached, but no longer than the caches would.
    """
    retry = RetryPolicy(deadline=min(RetryPolicy().deadline_seconds, timeout))
    retrying = client.through(lambda transport: transport, retry=retry, timeout=min(60.0, timeout))
    with contextlib.suppress(Forbidden):  # an account that may not get the version may still have the other permissions
        await retrying.server_version()
