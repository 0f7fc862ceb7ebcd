"""`Standby`: a second replica of the operator, which takes over when the first one loses the leadership."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from kubewright.api import format_micro_time
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.explore.runner._actors import Actor
from kubewright.operator import Running

__all__ = ["SETTINGS", "Standby"]

_LEASE: Final = "explored-operator"
_NAMESPACE: Final = "default"
_RENEWED: Final = 600.0
SETTINGS: Final[dict[str, Any]] = {
    "leader_elect": True,
    "lease_name": _LEASE,
    "lease_namespace": _NAMESPACE,
    "lease_duration": 20.0,
    "renew_deadline": 15.0,
    "retry_period": 5.0,
}
"""The settings of the election. The standby takes the lease within two retry periods."""


class Standby:
    """A replica with warm caches that runs no code of the user until it has the lease.

    The first replica runs without an election: another client holds the lease in its place. So it behaves the same with
    and without a standby.
    """

    def __init__(self, cluster: Cluster, clock: VirtualClock, running: Callable[[], Running]) -> None:
        self._clock = clock
        self._make = running
        self._holder = Actor(cluster, "other")
        self._released = False
        self.running: Running | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Starts the standby. Afterwards its caches are in sync."""
        await self._clock.run(self._acquire_lease(), 60)
        self._tasks.append(asyncio.create_task(self._operate(), name="standby of the operator"))
        await self._clock.advance_until(lambda: self.running is not None or self._tasks[0].done(), limit=600)

    async def _acquire_lease(self) -> None:
        spec = {"holderIdentity": "the-first-replica", "leaseDurationSeconds": 3600, "renewTime": self._now()}
        metadata = {"name": _LEASE, "namespace": _NAMESPACE}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        await self._holder.create(lease)
        self._clock.call_later(_RENEWED, self._renew)

    def _renew(self) -> None:
        if not self._released:
            self._write({"renewTime": self._now()})
            self._clock.call_later(_RENEWED, self._renew)

    def release(self) -> None:
        """Gives up the lease, so that the standby becomes the leader."""
        self._released = True
        self._write({"holderIdentity": ""})

    def _write(self, spec: dict[str, Any]) -> None:
        writing = self._holder.patch("leases.coordination.k8s.io", _NAMESPACE, _LEASE, {"spec": spec})
        self._tasks.append(asyncio.create_task(writing))

    def _now(self) -> str:
        return format_micro_time(self._clock.now())

    async def _operate(self) -> None:
        running = self._make()
        async with running:
            self.running = running
            await asyncio.get_running_loop().create_future()
