"""`WatchedOperator`: an operator that is queried periodically for all pages."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from kubewright.cache import ObjectKey
from kubewright.clock import Clock
from kubewright.console.operators._samples import Sample, sample
from kubewright.console.operators._view import ObjectInspection, OperatorUnavailable, OperatorView
from kubewright.observe import FailingObject, FailingObjects, LogLine, OperatorReport

__all__ = ["WatchedOperator"]

logger = logging.getLogger("kubewright.console")

_MAX_SAMPLES: Final = 300
_MAX_CONTROLLERS: Final = 200


class WatchedOperator:
    """The last report of an operator, its last 300 samples, and since when it is unavailable."""

    def __init__(self, view: OperatorView, clock: Clock, *, interval: float = 2.0) -> None:
        self.view = view
        self.report: OperatorReport | None = None
        """The last report. It is kept while the operator is unavailable."""
        self.unavailable_since: datetime | None = None
        """When the operator stopped answering; None while it answers."""
        self.problem = ""
        """Why the operator does not answer, and the fix."""
        self.last_seen: datetime | None = None
        self.failing = FailingObjects()
        """The objects whose last reconcile failed. Empty while the operator is unavailable."""
        self._clock = clock
        self._interval = interval
        self._samples: dict[str, deque[Sample]] = {}
        self._listeners: list[Callable[[], object]] = []

    @property
    def address(self) -> str:
        """The location of the operator."""
        return self.view.address

    @property
    def name(self) -> str:
        """The operator's name, or its address before the first report."""
        return (self.report.name if self.report is not None else "") or self.view.address

    def samples(self, controller: str) -> Sequence[Sample]:
        """Returns the samples of a controller, newest last."""
        return tuple(self._samples.get(controller, ()))

    def subscribe(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Calls back after each query, until the returned function is called."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    def failures(self, controller: str) -> Mapping[ObjectKey, FailingObject]:
        """Returns the objects of a controller whose last reconcile failed."""
        return {ObjectKey(one.namespace, one.name): one for one in self.failing.objects if one.controller == controller}

    async def inspect(self, controller: str, key: ObjectKey) -> ObjectInspection | None:
        """Returns what a controller knows about an object."""
        return await self.view.inspect(controller, key)

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """Returns the last log lines about an object."""
        return await self.view.logs(controller, key)

    async def query(self) -> None:
        """Queries the operator once and notifies subscribers."""
        try:
            found, failing = await self.view.report(), await self.view.failing()
        except OperatorUnavailable as error:
            # Another replica may have taken over, so the last failures are no longer known.
            self.failing = FailingObjects()
            if self.unavailable_since is None:
                self.unavailable_since = self._clock.now()
            self.problem = str(error)
        else:
            if self.report is not None and found.started_at != self.report.started_at:
                self._samples.clear()  # a restart, which resets the counters
            self.report, self.unavailable_since, self.problem, self.failing = found, None, "", failing
            self.last_seen = self._clock.now()
            for controller in found.controllers[:_MAX_CONTROLLERS]:
                kept = self._samples.setdefault(controller.name, deque(maxlen=_MAX_SAMPLES))
                kept.append(sample(found, controller))
        for listener in tuple(self._listeners):
            try:
                listener()
            except Exception:
                logger.exception("cannot update a page about operator %s", self.name)

    async def run(self) -> None:
        """Queries the operator periodically until canceled."""
        while True:
            try:
                await self.query()
            except asyncio.CancelledError:
                raise
            except Exception:
                logger.exception("cannot query operator %s", self.address)
            await self._clock.sleep(self._interval)
