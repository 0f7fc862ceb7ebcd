"""Verdicts on plans and scenes: which oracles apply."""

from __future__ import annotations

from collections.abc import Callable

from kubewright.explore.model import Checkpoint, Conditions, Fault, Finding, Outcome, Pause, Plan, Revise
from kubewright.explore.model._outcomes import Key
from kubewright.explore.oracles import (
    broken_invariants,
    bystanders_kept,
    collisions,
    compared,
    converged,
    created_again,
    deleted_alive,
    deleted_by_outdated,
    deleted_of_another,
    exceptions,
    fields_kept,
    generated_again,
    made_by_operator,
    orphans,
    postponed,
    ran_again,
    ready_too_early,
    ready_while_children_are_not,
    recovered,
    refuses,
    regenerated,
    unobserved_generation,
)
from kubewright.explore.search._baseline import Baseline, judge_undisturbed
from kubewright.explore.workloads import BYSTANDER, Scene, Subject
from kubewright.explore.worlds import Masks

__all__ = ["judge_plan", "judge_scene"]

Run = Callable[[Plan], Outcome]
_STALE = frozenset({"slow-watch", "reordered-watch", "takeover"})
"""Faults after which the operator acts on an earlier state, for which its status is right."""
_BRIEF = frozenset({"crash", "fail", "lost"})
"""Faults that take no time, unless they have a duration."""
_CONFLICT = 409
_HOUR = 3600.0
"""Seconds of a fault in which an operator may have to renew what expires."""
_LONG_FAULT_SECONDS = 60.0
"""Seconds of a fault in which an operator may miss its scheduled actions."""


def judge_plan(baseline: Baseline, plan: Plan, outcome: Outcome) -> list[Finding]:
    """Returns the findings of a run with faults, compared with the undisturbed run."""
    if outcome.broken:
        if outcome.broken.startswith("the operator ended"):
            return [Finding("ended", outcome.broken, subject="ended")]
        return []
    if [step for step, _ in outcome.refused] != [step for step, _ in baseline.outcome.refused]:
        return []  # the server refused other steps of the user than in the undisturbed run
    if any(fault.until for fault in plan.faults):
        return deleted_by_outdated(baseline.outcome, outcome)
    findings = converged(outcome)
    if findings:
        return [*deleted_alive(baseline.outcome, outcome, _foreign_keys(plan.faults)), *findings]
    kinds = {fault.kind for fault in plan.faults}
    foreign = kinds & {"remove", "edit"}
    if not foreign:
        findings += exceptions(outcome)
    findings += broken_invariants(outcome)
    masks, ignored = baseline.masks, _foreign_keys(plan.faults)
    if any(fault.seconds >= _LONG_FAULT_SECONDS for fault in plan.faults):
        ignored |= {sent.key for sent in outcome.requests if sent.resource in masks.timed}
        masks = masks.timeless(baseline.subject.resource)
    if not (masks.ages and any(fault.seconds >= _LONG_FAULT_SECONDS for fault in plan.faults)):
        findings += deleted_alive(baseline.outcome, outcome, ignored)
    findings += fields_kept(outcome)
    if kinds <= _BRIEF and not any(fault.seconds for fault in plan.faults):
        findings += created_again(baseline.outcome, outcome, masks.timed)
        findings += ran_again(baseline.outcome, outcome) if "jobs.batch" not in masks.timed else []
    if not foreign and "takeover" not in kinds and not any(fault.seconds >= _HOUR for fault in plan.faults):
        findings += generated_again(baseline.outcome, outcome, baseline.masks)
    if not kinds & _STALE and not foreign:
        findings += ready_too_early(outcome, baseline.subject.key, disturbed=True)
    for expected, actual in zip(baseline.outcome.checkpoints, outcome.checkpoints, strict=False):
        if baseline.subject.key in expected.world and masks.ages_apart(expected.time, actual.time):
            continue
        unlike = compared(
            expected,
            baseline.outcome,
            actual,
            outcome,
            masks,
            oracle="same-end-state",
            summary="the end state differs from the undisturbed run",
            subject=baseline.subject.key,
            only=_known(expected, outcome) if "slow-garbage" in kinds else None,
        )
        findings += unlike
        if unlike:
            break
        if not unobserved_generation(expected, baseline.subject.key, baseline.subject.schema):
            findings += unobserved_generation(actual, baseline.subject.key, baseline.subject.schema)
    return findings


def _known(expected: Checkpoint, outcome: Outcome) -> frozenset[Key]:
    """Returns the objects whose deletion by a late garbage collector the operator can notice.

    It watches them, or the server refused to create them because the former ones still existed.
    """
    refused = {sent.key for sent in outcome.requests if sent.verb == "create" and sent.status == _CONFLICT}
    keys = {*expected.world, *outcome.checkpoints[-1].world}
    return frozenset(key for key in keys if key[0] in outcome.watched or key in refused)


def _foreign_keys(faults: tuple[Fault, ...]) -> frozenset[tuple[str, str, str]]:
    return frozenset((fault.resource, fault.namespace, fault.name) for fault in faults if fault.name)


def judge_scene(subject: Subject, scene: Scene, masks: Masks, run: Run, conditions: Conditions) -> list[Finding]:
    """Runs a story without faults and its references, and returns the findings."""
    outcome = run(Plan(scene.story, (), conditions))
    if outcome.broken or outcome.refused or not outcome.checkpoints:
        return []
    references = [run(Plan(story, (), conditions)) for story in scene.references]
    if any(reference.broken or reference.refused or not reference.checkpoints for reference in references):
        return []
    for each in (outcome, *references):
        mistakes = [*exceptions(each, plain=scene.plain), *broken_invariants(each)]
        mistakes += converged(each) if each.over_budget else []
        if mistakes:
            return mistakes
    match scene.judged:
        case "bystanders":
            keys = frozenset(write.key for write in outcome.writes if write.name.endswith(BYSTANDER))
            return bystanders_kept(outcome, keys)
        case "gone":
            return [*converged(outcome), *orphans(outcome, outcome.checkpoints[-1], masks)]
        case "alone":
            return judge_undisturbed(subject, outcome, deletes=False)
        case "unready":
            return ready_while_children_are_not(outcome.checkpoints[-1], outcome, subject.key)
        case "postponed":
            limit = sum(step.seconds for step in scene.story.steps if isinstance(step, Pause))
            return postponed(references[0], outcome, subject.key, limit)
        case "tried":
            return []
        case "recovered":
            return recovered(references[0].checkpoints[-1], outcome.checkpoints[-1])
        case "isolated":
            return _isolated(subject, outcome, references, masks.timeless(subject.resource))
        case _:
            fresh = run(Plan(scene.fresh, (), conditions)) if scene.fresh is not None else None
            return _like_references(subject, scene, outcome, references, masks.timeless(subject.resource), fresh)


def _like_references(
    subject: Subject,
    scene: Scene,
    outcome: Outcome,
    references: list[Outcome],
    masks: Masks,
    fresh: Outcome | None,
) -> list[Finding]:
    """Compares the last checkpoints with the references: the last one with the last reference, and so on."""
    fails = any(reference.failures or converged(reference) for reference in references)
    if not fails and (findings := judge_undisturbed(subject, outcome, deletes=False)):
        return findings
    back = fails or (fresh is not None and refuses(fresh, references[0], subject.key, text=scene.text))
    if back:
        # The operator or a child's validation refuses this value; only the way back is judged.
        references = references[1:]
        if not references or references[-1].failures or converged(references[-1]):
            return []
    if not back and fresh is not None and (field := _changed_field(scene)):
        findings = regenerated(outcome, fresh, references[0], masks, field)
        if findings:
            return findings
    oracles = ("changed-spec", "rolled-back-spec") if scene.history else ("recreated", "recreated")
    texts = scene.summaries if scene.history else ("the object that was created again differs from the first one",) * 2
    count = len(references)
    for index, (reference, checkpoint) in enumerate(zip(references, outcome.checkpoints[-count:], strict=True)):
        if masks.ages_apart(reference.checkpoints[-1].time, checkpoint.time):
            continue
        last = index == count - 1 and (count > 1 or back)
        findings = compared(
            reference.checkpoints[-1],
            reference,
            checkpoint,
            outcome,
            masks,
            oracle=oracles[last],
            summary=texts[last],
            subject=subject.key,
            history=True,
        )
        if findings:
            return findings
    return []


def _changed_field(scene: Scene) -> tuple[str | int, ...]:
    """Returns the field that a story changes and changes back; empty for other stories."""
    changes = [step for step in scene.story.steps if isinstance(step, Revise)]
    return changes[0].path if scene.value and len(scene.references) > 1 else ()


def _isolated(subject: Subject, outcome: Outcome, references: list[Outcome], masks: Masks) -> list[Finding]:
    if len(references) == 2 and (found := collisions(*references)):
        return found
    for reference in references:
        if masks.ages_apart(reference.checkpoints[-1].time, outcome.checkpoints[-1].time):
            continue
        keys = frozenset(key for key in made_by_operator(reference) if key[0] not in masks.timed)
        if found := deleted_of_another(outcome, keys):
            return found
        owned = frozenset(
            key for key in keys if reference.checkpoints[-1].world[key]["metadata"].get("ownerReferences")
        )
        subjects = frozenset(key for key in reference.checkpoints[-1].world if key[0] == subject.resource)
        found = compared(
            reference.checkpoints[-1],
            reference,
            outcome.checkpoints[-1],
            outcome,
            masks,
            oracle="isolation",
            summary="the children of an object depend on another object",
            subject=subject.key,
            only=(owned or keys) | subjects,
        )
        if found:
            return found
    return []
