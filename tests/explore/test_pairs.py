"""Broken operators are found with the plan that shows them, and their corrected twins are not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kubewright.explore.model import Conditions, Fault, Finding, Plan
from kubewright.explore.runner import Pool
from kubewright.explore.search import (
    CIRCUMSTANCES,
    Baseline,
    judge_plan,
    judge_scene,
    judge_undisturbed,
    learn_masks,
)
from kubewright.explore.workloads import Subject, changes_of, hasty_life_of, life_of, read_subjects, scenes_of
from kubewright.explore.worlds import Masks
from kubewright.operator.loading import load_operator

OPERATORS = Path(__file__).parent / "operators"
HOUR = 3600.0
LIFE = {
    "duplicates": (Fault("crash", 1, after=True), "same-end-state"),
    "conflict": (Fault("fail", 1, status=500), "same-end-state"),
    "foreign": (Fault("conflict", 2), "other-writers"),
    "wrong_deletion": (Fault("restart", 1), "wrong-deletion"),
}
HASTY = {
    "orphan": (Fault("crash", 1, after=True, seconds=HOUR), "same-end-state"),
    "memory": (Fault("crash", 2, after=True, seconds=HOUR), "same-end-state"),
    "finalizer": (Fault("crash", 5, after=True, seconds=HOUR), "same-end-state"),
}
SCENES = {
    "removal": ("set spec.labels to {}", "changed-spec"),
    "rest": ("let an hour pass", "writes-at-rest"),
    "collision": ("xxxa and", "isolation"),
    "prefix": ("web and web-2, then delete the first", "isolation"),
}
ALONE = {"ready": "ready-too-early", "generation": "observed-generation"}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("", workers=1) as started:
        yield started


def target_of(name: str, variant: str) -> str:
    return str(OPERATORS / f"{name}_{variant}.py")


def subject_of(target: str) -> Subject:
    return read_subjects(load_operator(target), [OPERATORS / "sample.yaml"])[0]


def disturbed(pool: Pool, target: str, fault: Fault, *, hasty: bool) -> list[Finding]:
    subject = subject_of(target)
    change = next(each for each in changes_of(subject.object, subject.schema) if each.path == ("spec", "message"))
    story = (hasty_life_of if hasty else life_of)(subject, change)
    outcomes = [pool.run(Plan(story, (), conditions), target) for conditions in CIRCUMSTANCES[:2]]
    baseline = Baseline(subject, story, outcomes[0], learn_masks(outcomes))
    plan = Plan(story, (fault,))
    outcome = pool.run(plan, target)
    assert outcome.broken == ""
    return judge_plan(baseline, plan, outcome)


@pytest.mark.parametrize("name", [*LIFE, *HASTY])
def test_finds_the_fault_that_a_broken_operator_does_not_survive(pool: Pool, name: str) -> None:
    fault, oracle = {**LIFE, **HASTY}[name]
    found = disturbed(pool, target_of(name, "broken"), fault, hasty=name in HASTY)
    assert oracle in [finding.oracle for finding in found]
    assert disturbed(pool, target_of(name, "correct"), fault, hasty=name in HASTY) == []


@pytest.mark.parametrize("name", SCENES)
def test_finds_the_story_that_a_broken_operator_does_not_survive(pool: Pool, name: str) -> None:
    title, oracle = SCENES[name]
    found = {}
    for variant in ("broken", "correct"):
        target = target_of(name, variant)
        subject = subject_of(target)
        scene = next(scene for scene in scenes_of(subject) if title in scene.story.name)
        run = partial(pool.run, target=target)
        found[variant] = judge_scene(subject, scene, Masks(), run, Conditions())
    assert oracle in [finding.oracle for finding in found["broken"]]
    assert found["correct"] == []


@pytest.mark.parametrize("name", ALONE)
def test_finds_a_wrong_status_without_faults(pool: Pool, name: str) -> None:
    found = {}
    for variant in ("broken", "correct"):
        target = target_of(name, variant)
        subject = subject_of(target)
        change = next(each for each in changes_of(subject.object, subject.schema) if each.path == ("spec", "replicas"))
        outcome = pool.run(Plan(life_of(subject, change)), target)
        found[variant] = judge_undisturbed(subject, outcome, deletes=True)
    assert ALONE[name] in [finding.oracle for finding in found["broken"]]
    assert found["correct"] == []


@pytest.mark.promise("The explorer", "The same plan has the same outcome.")
def test_same_plan_has_the_same_outcome(pool: Pool) -> None:
    target = target_of("duplicates", "correct")
    plan = Plan(life_of(subject_of(target), None), (Fault("crash", 1, after=True),))
    first, *others = [pool.run(plan, target) for _ in range(4)]
    assert all(outcome == first for outcome in others)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_conditions_survive_a_lost_response_to_a_status(pool: Pool, number: int) -> None:
    fault = Fault("lost", number, after=True)
    assert disturbed(pool, target_of("conditions", "correct"), fault, hasty=False) == []
