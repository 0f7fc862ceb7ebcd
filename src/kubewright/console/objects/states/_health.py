"""`Health`: a state with its reason, as a function of time and of the last reconcile."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from kubewright.observe import FailingObject

__all__ = ["OVERDUE", "Health", "State", "with_failure"]

OVERDUE: Final = timedelta(minutes=5)
"""How long an object may be not ready before it is failing, unless its status reports progress."""

_MESSAGE_LENGTH: Final = 1_000


class State(StrEnum):
    """The state of an object."""

    READY = "ready"
    PROGRESSING = "progressing"
    FAILING = "failing"
    SUSPENDED = "suspended"
    TERMINATING = "terminating"
    UNKNOWN = "unknown"


class Health(NamedTuple):
    """A state and its reason: a condition's reason, a phase, a count."""

    state: State
    why: str = ""
    message: str = ""
    """The explanation for users: the message of the condition, or the error of the last reconcile."""
    overdue_at: datetime | None = None
    """When a progressing object becomes a failing one; None if the status does not say since when."""
    since: datetime | None = None
    """Since when the object is in this state, if its status or its operator reports it."""
    completed: bool = False
    """Whether the work of the object is done, as for a finished Job."""

    def at(self, now: datetime) -> Health:
        """Returns the health at this time."""
        if self.overdue_at is None or now < self.overdue_at:
            return self
        return self._replace(state=State.FAILING, overdue_at=None)


def with_failure(health: Health, failure: FailingObject | None, *, show_error: bool) -> Health:
    """Returns the health of an object whose last reconcile failed.

    A suspended, terminating or completed object keeps its state, because it is not expected to become ready. The error
    is included only with `show_error`: for viewers who may `get` the object.
    """
    if failure is None:
        return health
    retried = "" if failure.result == "error" else ", not retried"
    times = f" {failure.attempt} times" if failure.attempt > 1 else ""
    why = f"reconcile failed{times}{retried}"
    message = failure.error[:_MESSAGE_LENGTH] if show_error else ""
    if health.state in (State.SUSPENDED, State.TERMINATING) or health.completed:
        return health._replace(why=f"{health.why}; {why}" if health.why else why, message=message or health.message)
    return Health(State.FAILING, why, message or health.message, since=failure.since)
