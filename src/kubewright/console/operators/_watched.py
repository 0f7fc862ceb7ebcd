"""`WatchedOperator`: an operator that is asked again and again, once for all who look."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from kubewright.cache import ObjectKey
from kubewright.clock import Clock
from kubewright.console.operators._samples import Sample, sample
from kubewright.console.operators._view import ObjectInspection, OperatorUnavailable, OperatorView
from kubewright.observe import LogLine, OperatorReport

__all__ = ["WatchedOperator"]

logger = logging.getLogger("kubewright.console")

_KEPT: Final = 300
_CONTROLLERS_AT_MOST: Final = 200


class WatchedOperator:
    """The last report of an operator, its numbers of the last 300 times, and since when it is away."""

    def __init__(self, view: OperatorView, clock: Clock, *, interval: float = 2.0) -> None:
        self.view = view
        self.report: OperatorReport | None = None
        """The last one; it stays when the operator goes away."""
        self.unavailable_since: datetime | None = None
        """Since when it does not answer; None while it does."""
        self.problem = ""
        """Why it does not answer, and what to do."""
        self.last_seen: datetime | None = None
        self._clock = clock
        self._interval = interval
        self._samples: dict[str, deque[Sample]] = {}
        self._listeners: list[Callable[[], object]] = []

    @property
    def address(self) -> str:
        """Where it is."""
        return self.view.address

    @property
    def name(self) -> str:
        """The operator's name, or where it is as long as it has not told its name."""
        return (self.report.name if self.report is not None else "") or self.view.address

    def samples(self, controller: str) -> Sequence[Sample]:
        """The numbers of a controller, the newest last."""
        return tuple(self._samples.get(controller, ()))

    def subscribe(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call this after each time that the operator was asked, until what this returns is called."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    async def inspect(self, controller: str, key: ObjectKey) -> ObjectInspection | None:
        """What a controller knows about an object."""
        return await self.view.inspect(controller, key)

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """The last lines of the log about an object."""
        return await self.view.logs(controller, key)

    async def ask(self) -> None:
        """Ask once, and tell those who listen."""
        try:
            found = await self.view.report()
        except OperatorUnavailable as error:
            if self.unavailable_since is None:
                self.unavailable_since = self._clock.now()
            self.problem = str(error)
        else:
            if self.report is not None and found.started_at != self.report.started_at:
                self._samples.clear()  # another run, whose counters begin anew
            self.report, self.unavailable_since, self.problem = found, None, ""
            self.last_seen = self._clock.now()
            for controller in found.controllers[:_CONTROLLERS_AT_MOST]:
                kept = self._samples.setdefault(controller.name, deque(maxlen=_KEPT))
                kept.append(sample(found, controller))
        for listener in tuple(self._listeners):
            try:
                listener()
            except Exception:
                logger.exception("a page about operator %s could not be brought up to date", self.name)

    async def run(self) -> None:
        """Ask for ever."""
        while True:
            try:
                await self.ask()
            except asyncio.CancelledError:
                raise
            except Exception:
                logger.exception("operator %s could not be asked", self.address)
            await self._clock.sleep(self._interval)
