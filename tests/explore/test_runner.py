"""Runs of plans: faults, starts, and what a run records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubewright.explore.model import Fault, Outcome, Plan
from kubewright.explore.runner import Pool
from kubewright.explore.workloads import Subject, life_of, read_subjects
from kubewright.operator.loading import load_operator

OPERATORS = Path(__file__).parent / "operators"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("", workers=1) as started:
        yield started


def target_of(name: str) -> str:
    return str(OPERATORS / f"{name}.py")


def subject_of(target: str) -> Subject:
    return read_subjects(load_operator(target), [OPERATORS / "sample.yaml"])[0]


def run(pool: Pool, name: str, *faults: Fault) -> Outcome:
    target = target_of(name)
    outcome = pool.run(Plan(life_of(subject_of(target), None), faults), target)
    assert outcome.broken == ""
    return outcome


@pytest.mark.parametrize(
    "fault",
    [
        Fault("fail", 1, status=500),
        Fault("lost", 1, after=True),
        Fault("forbidden", 1, seconds=300.0),
        Fault("crash", 1, after=True, seconds=3600.0),
    ],
    ids=lambda fault: fault.kind,
)
def test_starts_an_operator_again_whose_start_failed(pool: Pool, fault: Fault) -> None:
    usual, disturbed = run(pool, "startup_correct"), run(pool, "startup_correct", fault)
    assert disturbed.hits == [True]
    assert [set(each.world) for each in disturbed.checkpoints] == [set(each.world) for each in usual.checkpoints]
    assert ("configmaps", "default", "settings") in usual.checkpoints[-1].world
