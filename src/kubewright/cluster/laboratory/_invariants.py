"""Invariants of an operator, checked after every write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType

from kubewright.api import Object
from kubewright.clock import VirtualClock
from kubewright.cluster._state import State
from kubewright.cluster.laboratory._journal import JournalEntry
from kubewright.cluster.laboratory._resources import storage_of
from kubewright.cluster.laboratory._scope import Scope
from kubewright.operator.definition import Invariant, World, broken_invariants

__all__ = ["InvariantBroken", "Invariants", "world_of"]


class InvariantBroken(AssertionError):
    """An invariant of the operator was false after a write. The message names both."""


def world_of(state: State) -> World:
    """Returns the objects in the storage, as they are at each read."""

    def read(kind: type[Object], namespace: str) -> Iterable[bytes]:
        return [entry.raw for entry in state.storage.entries(storage_of(state, kind), namespace)]

    return World(read)


class Invariants(Scope):
    """Checks invariants after every write until `end`, or until the end of its `with` block.

    `broken` has the first violation of each invariant. The end of the block raises `InvariantBroken` for the first one;
    on a `VirtualClock`, the method that moves time raises it, too.
    """

    def __init__(self, state: State, checks: dict[str, Invariant]) -> None:
        self.broken: dict[str, str] = {}
        self._state = state
        self._checks = dict(checks)
        self._world = world_of(state)
        self.ended: Callable[[], None] = lambda: None

    def check(self) -> None:
        """Raises `InvariantBroken` if an invariant was false."""
        for problem in self.broken.values():
            raise InvariantBroken(problem)

    def written(self, entry: JournalEntry) -> None:
        """Checks the invariants that held until now."""
        if not entry.wrote or entry.dry_run:
            return
        for name, reason in broken_invariants(self._checks, self._world):
            where = "/".join(part for part in (entry.namespace, entry.name) if part)
            what = f"after {entry.verb} of {entry.resource} {where} by {entry.user}"
            self.broken[name] = f"invariant {name} is broken {what}: {reason}"
            del self._checks[name]
            if len(self.broken) == 1 and isinstance(self._state.clock, VirtualClock):
                self._state.clock.call_later(0, self.check)  # raised by the test that moves the clock

    def end(self) -> None:
        """Ends the checks. May be called more than once."""
        self.ended()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        if error is None:
            self.check()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)
