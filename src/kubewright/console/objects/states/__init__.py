"""The state of an object: `Health` from its status (`state_of`), merged with its last reconcile (`with_failure`).

Both are pure functions. Time enters only through `Health.at`: an object that is not ready for too long is failing.
"""

from __future__ import annotations

from kubewright.console.objects.states._concerns import Concern, concern_of
from kubewright.console.objects.states._derive import health_of, state_of
from kubewright.console.objects.states._health import OVERDUE, Health, State, with_failure

__all__ = ["OVERDUE", "Concern", "Health", "State", "concern_of", "health_of", "state_of", "with_failure"]
