"""`Board`: the current state of the program and its objects, for a view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kubewright.development.messages import (
    Ended,
    Failed,
    Loaded,
    Message,
    ObjectSeen,
    Ready,
    Reconciled,
    Starting,
)

__all__ = ["Board", "Row"]

Phase = Literal["starting", "running", "failed", "ended"]


@dataclass(slots=True)
class Row:
    """One object: its state, and the result of its last reconcile."""

    kind: str
    namespace: str
    name: str
    state: str = ""
    there: bool = False
    result: str = ""
    error: str = ""
    attempt: int = 0
    at: float = 0.0

    @property
    def failing(self) -> bool:
        """Whether its last reconcile failed."""
        return bool(self.error)


class Board:
    """Collects messages into the current state. `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._rows: dict[tuple[str, str, str], Row] = {}
        self.operator = ""
        self.phase: Phase = "starting"

    def add(self, message: Message) -> bool:
        """Adds a message. Returns whether the state changed."""
        match message:
            case Starting():
                self.phase = "starting"
            case Loaded():
                self.operator = message.operator
                kinds = {kind.kind for kind in message.kinds}
                self._rows = {key: row for key, row in self._rows.items() if row.kind in kinds}
            case Ready():
                self.phase = "running"
            case Failed() if message.what != "sample":
                self.phase = "failed"
            case Ended():
                self.phase = "failed" if self.phase == "failed" else "ended"
            case ObjectSeen():
                self._see(message)
            case Reconciled():
                self._remember(message)
            case _:
                return False
        return True

    def rows(self) -> list[Row]:
        """Returns the existing objects, failing ones first."""
        there = [row for row in self._rows.values() if row.there]
        return sorted(there, key=lambda row: (not row.failing, row.kind, row.namespace, row.name))

    def _see(self, seen: ObjectSeen) -> None:
        if seen.change == "deleted":
            self._rows.pop((seen.kind, seen.namespace, seen.name), None)
            return
        row = self._row(seen)
        row.state, row.there = seen.state, True

    def _remember(self, reconciled: Reconciled) -> None:
        row = self._row(reconciled)
        row.result, row.error, row.attempt = reconciled.result, reconciled.error, reconciled.attempt
        row.at = self._now()

    def _row(self, about: ObjectSeen | Reconciled) -> Row:
        key = (about.kind, about.namespace, about.name)
        return self._rows.setdefault(key, Row(*key))
