"""Waits until a run is settled: nothing is left to do at this moment."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol, runtime_checkable

from kubewright.cache import Caches
from kubewright.clock import Clock, settled
from kubewright.controller import Controller
from kubewright.counts import counted

__all__ = ["wait_until_settled"]

_POLL_SECONDS: Final = 0.002


@runtime_checkable
class _Settles(Protocol):
    """A cluster with its own background work, such as an embedded one."""

    async def settled(self) -> None:
        """Waits until the cluster has nothing left to do."""


async def wait_until_settled(
    operator: str,
    clock: Clock,
    controllers: Sequence[Controller[Any]],
    *,
    caches: Caches | None,
    cluster: object,
    timeout: float,
) -> None:
    """Waits until the queues are empty, no reconcile runs, and the caches match the cluster.

    `caches` are those whose events arrive over a network. All other caches are fed within the event loop, and match
    the cluster when the event loop has nothing left to do.
    """
    scope = asyncio.timeout(timeout)
    try:
        async with scope:
            while not await _is_settled(clock, controllers, caches, cluster):  # noqa: ASYNC110 - of many parts
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        if not scope.expired():
            raise  # the clock's own error, which names the work that holds it
        raise TimeoutError(
            f"operator {operator} is not settled after {timeout:g} real seconds: {_unsettled(controllers)}. A reconcile"
            " that waits for virtual time ends when the clock advances"
        ) from None


async def _is_settled(
    clock: Clock, controllers: Sequence[Controller[Any]], caches: Caches | None, cluster: object
) -> bool:
    before = _handled(controllers)
    await settled(clock)
    if isinstance(cluster, _Settles):
        await cluster.settled()
    if _handled(controllers) != before or _is_busy(controllers):
        return False
    for informer in caches.informers if caches is not None else ():
        if await informer.behind():
            return False
    return not _is_busy(controllers)


def _is_busy(controllers: Sequence[Controller[Any]]) -> bool:
    return not all(controller.idle for controller in controllers)


def _unsettled(controllers: Sequence[Controller[Any]]) -> str:
    work = [
        f"{each.name}: {counted(len(each.queue), 'key')} ready, {counted(each.stats.active, 'reconcile')} running"
        for each in controllers
        if not each.idle
    ]
    return "; ".join(work) or "a cache does not match the cluster yet"


def _handled(controllers: Sequence[Controller[Any]]) -> int:
    return sum(sum(controller.stats.reconciles.values()) for controller in controllers)
