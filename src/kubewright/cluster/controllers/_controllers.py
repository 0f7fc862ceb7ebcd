"""`Controllers`: schedules the controllers after writes."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Final, Protocol

from kubewright.clock import Timer
from kubewright.cluster._state import State
from kubewright.cluster.access import Access
from kubewright.cluster.controllers._aggregation import RoleAggregation
from kubewright.cluster.controllers._certificates import CertificateController
from kubewright.cluster.controllers._garbage import GarbageCollector
from kubewright.cluster.controllers._namespaces import Namespaces
from kubewright.cluster.controllers._protection import VolumeProtection
from kubewright.cluster.controllers._token_secrets import TokenSecrets
from kubewright.cluster.limits import QuotaController
from kubewright.cluster.machinery._work_budget import WorkBudget
from kubewright.cluster.storage._storage import Event

__all__ = ["Controllers"]

_RETRY_SECONDS: Final = 1.0  # delay before retrying writes that admission rejected

log = logging.getLogger("kubewright.cluster")


class _Part(Protocol):
    @property
    def busy(self) -> bool: ...


class Controllers:
    """Runs the controllers of one cluster on the event loop that started it."""

    def __init__(self, state: State, access: Access) -> None:
        self._state = state
        self._namespaces, self._secrets = Namespaces(state, self._schedule), TokenSecrets(state, access.tokens)
        self._collector = GarbageCollector(state)
        self._certificates = CertificateController(state, access.authorizer, self._schedule)
        self._parts = (
            self._collector,
            self._namespaces,
            VolumeProtection(state),
            RoleAggregation(state),
            self._secrets,
            QuotaController(state),
            self._certificates,
        )
        self._budget = WorkBudget()
        self._task: asyncio.Task[None] | None = None
        self._retry: Timer | None = None
        self._collecting: Timer | None = None
        self._may_collect = False
        self._stopped = False

    def start(self) -> None:
        """Starts, and processes the objects that exist already."""
        self._state.storage.subscribe_all(self)
        self._state.delays_changed.append(self._delays_changed)
        self._certificates.start()
        self._schedule()

    def stop(self) -> None:
        """Stops all work."""
        self._stopped = True
        self._state.storage.unsubscribe_all(self)
        self._certificates.stop()
        for timer in (self._retry, self._collecting):
            if timer is not None:
                timer.cancel()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def offer(self, event: Event) -> None:
        """Records a write."""
        for part in self._parts:
            part.notice(event)
        self._schedule()

    def certificate_changed(self) -> None:
        """Updates the ConfigMap of each namespace and the token Secrets with the new certificate."""
        self._namespaces.begin_again()
        self._secrets.begin_again()
        self._schedule()

    async def settled(self) -> None:
        """Waits until no work is pending."""
        while self._task is not None:
            await asyncio.wait([self._task])

    def _schedule(self) -> None:
        if self._task is None and not self._stopped and any(self._is_ready(part) for part in self._parts):
            self._task = asyncio.get_running_loop().create_task(self._measured(), name="kubewright-cluster-controllers")

    def _is_ready(self, part: _Part) -> bool:
        """Returns whether a part has work, and a laboratory does not hold it back."""
        if part is not self._collector or not part.busy:
            return part.busy
        delay = self._state.delays.get("garbage-collector")
        if delay is None or self._may_collect:
            return True
        if self._collecting is None and delay.seconds < math.inf:
            self._collecting = self._state.clock.call_later(delay.seconds, self._collect)
        return False

    def _collect(self) -> None:
        self._collecting, self._may_collect = None, True
        self._schedule()

    def _delays_changed(self) -> None:
        if self._collecting is not None:  # `_is_ready` starts a timer for another delay
            self._collecting.cancel()
            self._collecting = None
        self._namespaces.delay_changed()
        self._schedule()

    async def _measured(self) -> None:
        if (slow := self._state.slow_callbacks) is None:
            await self._run()
        else:
            await slow.measured("a controller", self._run())

    async def _run(self) -> None:
        for part in self._parts:
            if part is self._collector:
                if not self._is_ready(part):
                    continue
                self._may_collect = False
            try:
                await part.work(self._budget)
            except Exception:  # a bug here must end neither the embedding program nor the other controllers
                log.exception("a controller of the embedded cluster failed")
        self._task = None
        self._schedule()
        if self._retry is None and any(part.later for part in self._parts):
            self._retry = self._state.clock.call_later(_RETRY_SECONDS, self._again)

    def _again(self) -> None:
        self._retry = None
        for part in self._parts:
            part.again()
        self._schedule()
