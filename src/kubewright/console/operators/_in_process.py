"""`InProcess`: an operator that runs in the console's own event loop."""

from __future__ import annotations

from typing import Any

from kubewright.cache import ObjectKey
from kubewright.console.operators._view import BeforeAfter, ObjectInspection, OperatorUnavailable
from kubewright.controller import Controller
from kubewright.observe import FailingObjects, LogLine, OperatorReport, failing_objects, inspect, report
from kubewright.operator import Running

__all__ = ["InProcess"]


class InProcess:
    """An operator in this process, until it stops."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._logs = running.keep_logs()

    @property
    def address(self) -> str:
        """The location of the operator."""
        return "in this process"

    async def report(self) -> OperatorReport:
        """Returns the report of the whole operator."""
        running = self._running
        if running.stopping:
            raise OperatorUnavailable(f"operator {running.operator.name} has stopped")
        return report(running.sources, name=running.operator.name, started_at=running.started_at)

    async def failing(self) -> FailingObjects:
        """Returns the objects whose last reconcile failed."""
        return failing_objects(self._running.controllers)

    async def inspect(self, controller: str, key: ObjectKey) -> ObjectInspection | None:
        """Returns what a controller knows about an object, including the values that its writes changed."""
        for one in self._running.controllers:
            if one.name == controller:
                found = inspect(one, key)
                if found.cached is None and not found.results and found.queue.state == "idle":
                    return None
                return ObjectInspection(found, _values(one, key))
        return None

    async def logs(self, controller: str, key: ObjectKey) -> list[LogLine]:
        """Returns the last log lines about an object."""
        return self._logs.of(controller, key)

    async def close(self) -> None:
        """Does nothing."""


def _values(controller: Controller[Any], key: ObjectKey) -> dict[tuple[int, int], BeforeAfter]:
    """Uses the order of `inspect`, newest result first. Both read the same history without yielding in between."""
    found: dict[tuple[int, int], BeforeAfter] = {}
    for number, entry in enumerate(reversed(controller.history.of(key))):
        for place, write in enumerate(entry.writes):
            if (change := controller.history.change_of(write)) is not None:
                found[number, place] = change[1:]
    return found
