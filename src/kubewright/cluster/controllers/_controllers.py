"""`Controllers`: what reacts to writes, and when."""

from __future__ import annotations

import asyncio
import logging

from kubewright.cluster._state import State
from kubewright.cluster._storage import Event
from kubewright.cluster.controllers._garbage import GarbageCollector
from kubewright.cluster.controllers._namespaces import Namespaces
from kubewright.cluster.controllers._protection import VolumeProtection

__all__ = ["Controllers"]

log = logging.getLogger("kubewright.cluster")


class Controllers:
    """Runs the controllers of one cluster on the event loop that it was started in."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._parts = (GarbageCollector(state), Namespaces(state), VolumeProtection(state))
        self._turn: asyncio.Handle | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin. What the storage has already is looked at as well."""
        self._state.storage.subscribe_all(self)
        self._schedule()

    def stop(self) -> None:
        """Do nothing any more."""
        self._stopped = True
        self._state.storage.unsubscribe_all(self)
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def offer(self, event: Event) -> None:
        """Take notice of a write."""
        for part in self._parts:
            part.notice(event)
        self._schedule()

    async def settled(self) -> None:
        """Wait until nothing is left to do."""
        while self._turn is not None:  # noqa: ASYNC110  # turns of the loop are what is waited for
            await asyncio.sleep(0)

    def _schedule(self) -> None:
        if self._turn is None and not self._stopped and any(part.busy for part in self._parts):
            self._turn = asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._turn = None
        for part in self._parts:
            try:
                part.work()
            except Exception:  # a bug of ours must not end the program that embeds us, nor the other controllers
                log.exception("a controller of the embedded cluster failed")
        self._schedule()
