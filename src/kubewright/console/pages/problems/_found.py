"""`find_problems`: the failing objects among the rows of several kinds, worst first. A pure function."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kubewright.console.caches import Row
from kubewright.console.kinds import Kind
from kubewright.console.objects import State, parse_time

__all__ = ["Problem", "find_problems"]

STUCK: Final = timedelta(minutes=5)
"""How long a deletion may take before it is a problem."""


class Problem(NamedTuple):
    """An object that needs attention."""

    kind: Kind
    row: Row
    since: datetime | None

    @property
    def state(self) -> State:
        """The state of the object."""
        return State(self.row["state"])


def find_problems(rows: Iterable[tuple[Kind, Row]], now: datetime) -> list[Problem]:
    """Returns failing objects, then objects whose deletion is stuck. Within both, the longest problem first.

    Custom resources come before the objects that they own, because their messages name the cause more often.
    """
    found = []
    for kind, row in rows:
        since = parse_time(row["deleted"] if row["state"] == State.TERMINATING else row["since"])
        stuck = row["state"] == State.TERMINATING and since is not None and now - since >= STUCK
        if row["state"] == State.FAILING or stuck:
            found.append(Problem(kind, row, since))
    return sorted(found, key=lambda one: (one.state is not State.FAILING, not one.kind.custom, one.since or now))
