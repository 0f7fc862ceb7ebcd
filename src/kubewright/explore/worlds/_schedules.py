"""Objects that an operator creates as time passes, such as the Jobs of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright.explore.model import Outcome

__all__ = ["IDLE_SECONDS", "scheduled"]

IDLE_SECONDS: Final = 20.0
"""Virtual seconds without a write, after which only time can have caused the next one of the operator."""


def scheduled(outcomes: Sequence[Outcome]) -> frozenset[str]:
    """Returns the resources that the operator creates on a schedule, in undisturbed runs of the same story.

    It creates them after a time without any write, and with other names in other runs.
    """
    if len(outcomes) < 2:
        return frozenset()
    last = 0.0
    found = set()
    for write in outcomes[0].writes:
        if write.before is None and write.actor == "operator" and write.time - last > IDLE_SECONDS:
            found.add(write.resource)
        last = write.time
    return frozenset(each for each in found if _names(outcomes[0], each) != _names(outcomes[1], each))


def _names(outcome: Outcome, resource: str) -> set[str]:
    """Returns the names of all objects that the operator created."""
    return {
        write.name
        for write in outcome.writes
        if write.before is None and write.actor == "operator" and write.resource == resource
    }
