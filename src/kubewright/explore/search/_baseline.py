"""`Baseline`: undisturbed runs of a story, and the masks that they show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from kubewright.explore.model import Conditions, Finding, Outcome, Story
from kubewright.explore.oracles import (
    broken_invariants,
    converged,
    exceptions,
    orphans,
    ready_too_early,
    undeclared,
    unobserved_generation,
    written_at_rest,
)
from kubewright.explore.workloads import Subject
from kubewright.explore.worlds import Masks, canonical, learn, learn_identifiers, scheduled

__all__ = ["CIRCUMSTANCES", "Baseline", "judge_undisturbed", "learn_masks"]

CIRCUMSTANCES: Final = (
    Conditions(),
    Conditions(seed=1, start=1, addresses=1),
    Conditions(seed=2, start=40, latency=0.02, addresses=2),
    Conditions(seed=3, start=100, latency=0.0005, addresses=3),
    Conditions(seed=4, start=365, latency=0.1, addresses=4),
)
"""The circumstances of the undisturbed runs of a story."""


class Baseline(msgspec.Struct):
    """The undisturbed story of a subject."""

    subject: Subject
    story: Story
    outcome: Outcome
    masks: Masks


def learn_masks(outcomes: Sequence[Outcome]) -> Masks:
    """Returns the masks of undisturbed runs of the same story. Raises `TooManyMasks`."""
    masks = Masks()
    for number in range(min(len(outcome.checkpoints) for outcome in outcomes)):
        worlds = [canonical(outcome.checkpoints[number].world, outcome.writes) for outcome in outcomes]
        found = learn(worlds)
        if found.names:
            named = [
                canonical(outcome.checkpoints[number].world, outcome.writes, names=found.names) for outcome in outcomes
            ]
            found = Masks(names=found.names).merged(learn(named))
        identifiers = learn_identifiers([outcome.checkpoints[number].world for outcome in outcomes])
        masks = masks.merged(found).merged(identifiers)
    return masks.merged(Masks(timed=scheduled(outcomes)))


def judge_undisturbed(
    subject: Subject, outcome: Outcome, *, deletes: bool, masks: Masks | None = None, plain: bool = False
) -> list[Finding]:
    """Returns the findings of a run without faults, by itself. `plain`: all values of the run are acceptable."""
    findings = [
        *converged(outcome),
        *exceptions(outcome, plain=plain),
        *broken_invariants(outcome),
        *undeclared(outcome),
    ]
    if findings:
        return findings
    findings += ready_too_early(outcome, subject.key)
    for checkpoint in outcome.checkpoints:
        findings += written_at_rest(outcome, checkpoint)
        findings += unobserved_generation(checkpoint, subject.key, subject.schema)
    if deletes and outcome.checkpoints:
        findings += orphans(outcome, outcome.checkpoints[-1], masks)
    return findings
