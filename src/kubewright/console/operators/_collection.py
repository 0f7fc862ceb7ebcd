"""`Operators`: all operators of a console."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import NamedTuple, Self

from kubewright.cache import ObjectKey
from kubewright.clock import Clock, SystemClock
from kubewright.console.operators._view import OperatorView
from kubewright.console.operators._watched import WatchedOperator
from kubewright.observe import ControllerReport, FailingObject, KindName

__all__ = ["ControllerRef", "Operators"]

logger = logging.getLogger("kubewright.console")


class ControllerRef(NamedTuple):
    """An operator, and its controller of a kind."""

    operator: WatchedOperator
    controller: ControllerReport


class Operators:
    """The operators of a console. Within `async with operators`, each is queried every two seconds."""

    def __init__(self, *views: OperatorView, clock: Clock | None = None, interval: float = 2.0) -> None:
        self._clock = clock or SystemClock()
        self._interval = interval
        self._tasks: dict[WatchedOperator, asyncio.Task[None]] = {}
        self._running = False
        self._listeners: list[Callable[[], object]] = []
        self._all = [self._watched(view) for view in views]

    def __iter__(self) -> Iterator[WatchedOperator]:
        return iter(tuple(self._all))

    def __len__(self) -> int:
        return len(self._all)

    def _watched(self, view: OperatorView) -> WatchedOperator:
        made = WatchedOperator(view, self._clock, interval=self._interval)
        made.subscribe(self._notify)
        return made

    def subscribe(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Calls back after each query and after a removal, until the returned function is called."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            try:
                listener()
            except Exception:
                logger.exception("cannot update a page about operators")

    def add(self, view: OperatorView) -> WatchedOperator:
        """Adds an operator."""
        made = self._watched(view)
        self._all.append(made)
        if self._running:
            self._start(made)
        return made

    async def remove(self, operator: WatchedOperator) -> None:
        """Removes an operator and closes its view."""
        if operator in self._all:
            self._all.remove(operator)
        await self._end(operator)
        self._notify()

    def controllers_of(self, group: str, kind: str) -> list[ControllerRef]:
        """Returns the controllers that reconcile a kind, with their operators."""
        return [
            ControllerRef(operator, controller)
            for operator in self._all
            if operator.report is not None
            for controller in operator.report.controllers
            if (controller.group, controller.kind) == (group, kind)
        ]

    def failures_of(self, group: str, kind: str) -> dict[ObjectKey, FailingObject]:
        """Returns the objects of a kind whose last reconcile failed."""
        return {
            key: failure
            for ref in self.controllers_of(group, kind)
            for key, failure in ref.operator.failures(ref.controller.name).items()
        }

    def owned_by(self, group: str, kind: str) -> list[KindName]:
        """Returns the kinds that operators own for a kind, without duplicates."""
        return list(dict.fromkeys(owned for ref in self.controllers_of(group, kind) for owned in ref.controller.owns))

    async def __aenter__(self) -> Self:
        self._running = True
        for operator in self._all:
            self._start(operator)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running = False
        for operator in [*self._tasks]:
            await self._end(operator)

    def _start(self, operator: WatchedOperator) -> None:
        self._tasks[operator] = asyncio.create_task(operator.run(), name=f"query operator {operator.address}")

    async def _end(self, operator: WatchedOperator) -> None:
        task = self._tasks.pop(operator, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        await operator.view.close()
