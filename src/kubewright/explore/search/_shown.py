"""Scenes that undisturbed runs show, and the order of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kubewright.explore.model import Create, Plan
from kubewright.explore.search._baseline import Baseline
from kubewright.explore.workloads import Scene, Subject, bystanders_of, postponed_of
from kubewright.explore.worlds import creators

__all__ = ["bystander_scenes", "interleaved", "is_about", "postponed_scenes"]

_KINDS: Final = {"configmaps": "ConfigMap", "secrets": "Secret", "serviceaccounts": "ServiceAccount"}
_MOMENTS: Final = 3
"""How many of the times after which an operator acts are tried with restarts."""


def is_about(plan: Plan, subject: Subject) -> bool:
    return any(isinstance(step, Create) and step.object["kind"] == subject.object["kind"] for step in plan.story.steps)


def bystander_scenes(baseline: Baseline) -> list[Scene]:
    """Returns the scene with objects of a user beside the children, if there are plain children."""
    made = creators(baseline.outcome.writes)
    children = [
        (_KINDS.get(key[0], ""), obj)
        for key, obj in baseline.outcome.checkpoints[0].world.items()
        if made.get(key) == "operator"
    ]
    scene = bystanders_of(baseline.subject, children)
    return [] if scene is None else [scene]


def postponed_scenes(baseline: Baseline) -> list[Scene]:
    """Returns the scenes with restarts before the actions that the operator takes after a time."""
    return [postponed_of(baseline.subject, seconds) for seconds in baseline.masks.ages[:_MOMENTS]]


def interleaved(one: Iterator[Callable[[], None]], other: Iterator[Callable[[], None]]) -> Iterator[Callable[[], None]]:
    """Yields one of the first and two of the second, as long as there are any."""
    missing = object()
    while True:
        batch = [next(each, missing) for each in (one, other, other)]
        if all(each is missing for each in batch):
            return
        yield from (each for each in batch if each is not missing)  # type: ignore[misc]
