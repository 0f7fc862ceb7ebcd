"""Controllers of the cluster that are held back."""

from __future__ import annotations

import math

from kubewright.cluster._state import Delay, State
from kubewright.cluster.laboratory._scope import Scope
from kubewright.durations import Duration, check_duration

__all__ = ["Held"]


class Held(Scope):
    """Holds a controller back until `end`.

    A later delay of the same controller replaces an earlier one. Waiting work then waits for the later delay.
    """

    def __init__(self, state: State, controller: str, seconds: Duration | None) -> None:
        self._state = state
        self._controller = controller
        self._delay = Delay(math.inf if seconds is None else check_duration("seconds", seconds, zero=False))
        replaced = controller in state.delays
        state.delays[controller] = self._delay
        if replaced:
            self._report_change()

    def end(self) -> None:
        """Ends this delay, unless a later one has replaced it. May be called more than once."""
        if self._state.delays.get(self._controller) is self._delay:
            del self._state.delays[self._controller]
            self._report_change()

    def _report_change(self) -> None:
        for changed in self._state.delays_changed:
            changed()
