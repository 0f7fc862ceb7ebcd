"""`Companions`: the actions of external systems in the cluster, such as labeling pods."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar, copy_context
from typing import Final

from kubewright.client import ApiError
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.explore.runner._settings import UNSERVED
from kubewright.operator import Operator

__all__ = ["Companions", "current_companions"]

_START: Final = 600.0
"""Virtual seconds within which the caches of a companion must be in sync."""
_CURRENT: Final[ContextVar[Companions | None]] = ContextVar("kubewright-companions", default=None)


def current_companions() -> Companions | None:
    """Returns the companions, if this code is a part of one."""
    return _CURRENT.get()


class Companions:
    """Operators of simulated external systems: the ones that the `operator()` of their stand-ins returns.

    They run from the start of the cluster to the end of the run. Faults do not affect them. A bug in one of them would
    make every verdict doubtful, so `check` raises it. API errors are not bugs: a companion may get a conflict.
    """

    def __init__(self, cluster: Cluster, clock: VirtualClock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []
        self._started = 0
        self._error: Exception | None = None

    async def start(self, operator: Operator) -> None:
        """Starts the companions of an operator's simulated systems."""
        for dependency in operator.dependencies:
            if dependency.simulated is None:
                continue
            made = getattr(self._cluster.lab.external(dependency).client, "operator", None)
            if not callable(made):
                continue
            companion = made()
            if not isinstance(companion, Operator):
                raise TypeError(f"operator() of the simulation of {dependency.name} must return a kw.Operator")
            context = copy_context()
            context.run(_CURRENT.set, self)
            work = self._operate(companion, f"explored-{dependency.name}")
            self._tasks.append(asyncio.create_task(work, name=f"companion {dependency.name}", context=context))
        await self._clock.advance_until(self._are_up, limit=_START)
        self.check()

    def note(self, record: logging.LogRecord, error: BaseException | None) -> None:
        """Remembers the first error that a companion logs."""
        if self._error is not None or isinstance(error, ApiError):
            return
        if isinstance(error, Exception):
            self._error = error
        elif record.levelno >= logging.ERROR:
            self._error = RuntimeError(record.getMessage())

    def check(self) -> None:
        """Raises the first error of a companion."""
        if self._error is not None:
            raise self._error

    def _are_up(self) -> bool:
        return self._started == len(self._tasks) or self._error is not None

    async def _operate(self, companion: Operator, user: str) -> None:
        client = self._cluster.client(user=User(user, ("system:masters",)))
        try:
            async with companion.running(client, clock=self._clock, **UNSERVED):
                self._started += 1
                await asyncio.get_running_loop().create_future()
        except Exception as error:
            self._error = self._error or error
