"""`Programs`: the external systems and the invariants of the program under test."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from kubewright.cluster._state import State
from kubewright.cluster.laboratory._external import External
from kubewright.cluster.laboratory._invariants import Invariants, world_of
from kubewright.cluster.laboratory._journal import JournalEntry
from kubewright.cluster.laboratory._scope import Scope
from kubewright.cluster.laboratory._watch_faults import WatchFaults
from kubewright.controller import Dependency
from kubewright.operator.definition import OperatorDefinition, World

__all__ = ["Programs"]


class Programs(WatchFaults):
    """The part of a laboratory that simulates external systems and checks invariants."""

    def __init__(self, state: State, rng: random.Random) -> None:
        super().__init__(state, rng)
        self.externals: dict[str, External] = {}
        """The external systems by name, as the last run of the operator uses them."""
        self._external_calls = 0

    def on_write(self, hook: Callable[[JournalEntry], object]) -> Scope:
        """Calls a plain function with each write."""
        raise NotImplementedError

    def external(self, dependency: Dependency[Any]) -> External:
        """Simulates an external system that the operator declares with `@operator.provides(simulated=...)`.

            neutron_system = cluster.lab.external(neutron)
            neutron_system.fail("create_network", committed=True)
            async with operator.running(cluster, replace=[neutron_system.replacement]): ...

        The state belongs to the cluster: after a restart, the simulation of a dependency with the same name has the
        same state. Every other cluster starts with an empty one. Raises ValueError if nothing is declared.
        """
        known = self.externals.get(dependency.name)
        made = External(dependency, {} if known is None else known.state, self._next_call)
        self.externals[dependency.name] = made
        return made

    def _next_call(self) -> int:
        self._external_calls += 1
        return self._external_calls

    def world(self) -> World:
        """Returns all objects, as invariants see them. Each read returns the current ones."""
        return world_of(self._state)

    def invariants(self, operator: OperatorDefinition) -> Invariants:
        """Checks the operator's invariants after every write: `with cluster.lab.invariants(operator): ...`.

        The end of the block raises `InvariantBroken` if one was false, with the write after which it was.
        """
        made = Invariants(self._state, operator.invariants)
        made.ended = self.on_write(made.written).end
        return made
