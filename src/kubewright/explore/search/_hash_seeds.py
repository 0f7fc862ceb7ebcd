"""Restarts in a process with another hash seed, which orders sets of strings and decides what `hash()` returns.

A run cannot change the hash seed of its process. So the same story runs in two processes. If their ends differ, the
story continues in the second process with the objects that the first one left. An operator that keeps them is correct,
because its choice outlives a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from kubewright.explore.model import Conditions, Finding, Outcome, Plan, Restart, Story, Wait
from kubewright.explore.model._outcomes import Key
from kubewright.explore.oracles import compared
from kubewright.explore.workloads import Subject
from kubewright.explore.worlds import EXTERNAL, Masks, canonical, differences

__all__ = ["HASH_SEEDS", "judge_hash_seed", "judge_rehashed"]

HASH_SEEDS: Final = (1, 2)
"""The hash seeds of restarted operators. The usual one is 0."""
_MAX_KEYS: Final = 20
"""The maximum number of objects that may differ."""
_ADDED: Final = 2
"""The steps after the story: a restart, and a wait."""

Run = Callable[[Plan], Outcome]


def judge_hash_seed(
    subject: Subject, story: Story, hash_seed: int, masks: Masks, run: Run, conditions: Conditions
) -> tuple[list[Finding], Plan | None]:
    """Returns whether the end of a story depends on the hash seed, with the plan that shows it.

    Args:
        subject: the custom resource.
        story: a story that ends with a `Wait`.
        hash_seed: the hash seed after the restart.
        masks: the learned masks.
        run: runs a plan.
        conditions: the circumstances.
    """
    usual = run(Plan(story, (), conditions))
    other = run(Plan(story, (), msgspec.structs.replace(conditions, hash_seed=hash_seed)))
    if not _is_complete(usual) or not _is_complete(other):
        return [], None
    restart = _restart(usual, other, masks)
    if restart is None:
        return [], None
    steps = (*story.steps, restart, Wait())
    name = f"{story.name}, then restart the operator with another hash seed"
    plan = Plan(Story(name, steps), (), msgspec.structs.replace(conditions, hash_seed=hash_seed))
    return judge_rehashed(subject, plan, masks, run), plan


def judge_rehashed(subject: Subject, plan: Plan, masks: Masks, run: Run) -> list[Finding]:
    """Returns the findings of a restart in a process with another hash seed."""
    story = Story("", plan.story.steps[:-_ADDED])
    usual = run(Plan(story, (), msgspec.structs.replace(plan.conditions, hash_seed=0)))
    outcome = run(plan)
    if not _is_complete(usual) or not _is_complete(outcome) or outcome.refused:
        return []
    return compared(
        usual.checkpoints[-1],
        usual,
        outcome.checkpoints[-1],
        outcome,
        masks.timeless(subject.resource),
        oracle="same-end-state",
        summary="the state depends on PYTHONHASHSEED, so that a restart of the operator changes it",
        subject=subject.key,
        history=True,
    )


def _is_complete(outcome: Outcome) -> bool:
    return bool(outcome.checkpoints) and not outcome.broken and outcome.checkpoints[-1].quiet


def _restart(usual: Outcome, other: Outcome, masks: Masks) -> Restart | None:
    """Returns the restart after which the second process finds what the first one left; None if they are equal."""
    ends = [canonical(outcome.checkpoints[-1].world, outcome.writes, names=masks.names) for outcome in (usual, other)]
    keys: dict[Key, bool] = {}
    """The objects that differ, and whether only the second process has made them."""
    for difference in differences(ends[0], ends[1], masks):
        keys[difference.key] = difference.extra and not difference.path
    left, made = usual.checkpoints[-1].world, other.checkpoints[-1].world
    known = all(key in (made if added else left) and not key[0].startswith(EXTERNAL) for key, added in keys.items())
    if not keys or len(keys) > _MAX_KEYS or not known:
        return None
    return Restart(
        left=tuple((key[0], left[key]) for key, added in keys.items() if not added),
        made=tuple(key for key, added in keys.items() if added),
    )
