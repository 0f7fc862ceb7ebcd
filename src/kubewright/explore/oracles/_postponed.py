"""Actions after a time: restarts of the operator do not postpone them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from kubewright.durations import format_duration
from kubewright.explore.model import Finding, Outcome, Write
from kubewright.explore.model._outcomes import Key
from kubewright.explore.worlds import IDLE_SECONDS, unlike

__all__ = ["actions_after_a_time", "postponed"]

_MAX_TIMES: Final = 3
"""Up to this many times are not a period."""
_LATEST_FIRST: Final = 2 * 3600.0
Action: TypeAlias = tuple[str, str]
"""An action of the operator, such as `deleted`, and the resource."""


def actions_after_a_time(outcome: Outcome, subject: Key) -> dict[Action, list[float]]:
    """Returns the operator's actions after a time without any write, with their times in seconds since the creation.

    Actions that it repeats are left out: they need not happen at a certain time.
    """
    idle: dict[Action, list[float]] = defaultdict(list)
    last: float | None = None
    for time, action in _actions(outcome, subject):
        if action is not None and last is not None and time - last > IDLE_SECONDS:
            idle[action].append(time)
        last = time
    return {action: times for action, times in idle.items() if len(times) <= _MAX_TIMES and times[0] <= _LATEST_FIRST}


def postponed(expected: Outcome, actual: Outcome, subject: Key, seconds: float) -> list[Finding]:
    """Restarts of the operator do not postpone its actions.

    Args:
        expected: the run without restarts.
        actual: the run with restarts.
        subject: the custom resource.
        seconds: the time of the last restart, since the creation.
    """
    for action, (usual, *_) in sorted(actions_after_a_time(expected, subject).items()):
        times = [time for time, other in _actions(actual, subject) if other == action and time > usual / 2]
        if not times or times[0] > seconds:
            did, resource = action
            when = f"after {format_duration(round(times[0]))}" if times else "not at all"
            return [
                Finding(
                    "postponed",
                    f"{resource}: {did} {when} instead of after {format_duration(round(usual))}, because a restart of"
                    " the operator begins the wait again",
                    subject=f"{did} {resource}",
                )
            ]
    return []


def _actions(outcome: Outcome, subject: Key) -> Iterator[tuple[float, Action | None]]:
    """Yields, for each write, the seconds since the creation of the subject, and the action of the operator.

    Writes that change nothing but times are left out.
    """
    begin: float | None = None
    for write in outcome.writes:
        if begin is None and write.key == subject and write.before is None:
            begin = write.time
        if begin is not None and not _is_heartbeat(write):
            did = "created" if write.before is None else "deleted" if write.after is None else "changed"
            yield write.time - begin, (did, write.resource) if write.actor == "operator" else None


def _is_heartbeat(write: Write) -> bool:
    if write.before is None or write.after is None:
        return False
    return not unlike(msgspec.json.decode(write.before), msgspec.json.decode(write.after))
