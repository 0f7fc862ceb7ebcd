"""Our results of every request in the tables equal the real server's."""

from __future__ import annotations

import pytest

from tests.cluster.merge.apply_cases import CASES as APPLY_CASES
from tests.cluster.merge.patch_cases import CASES as PATCH_CASES
from tests.cluster.merge.table import Case, Object, is_validation, managed_fields, recorded, recorded_random, replay


def named(case: Case) -> str:
    return case.name


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Managed fields and conflicts after creates, updates, patches and applies match the real server.",
)
@pytest.mark.parametrize("case", APPLY_CASES, ids=named)
def test_managed_fields_and_conflicts_match_the_server(case: Case) -> None:
    check(case)


@pytest.mark.promise(
    "How the embedded cluster merges",
    "JSON, merge and strategic merge patches have the results and errors of the real server.",
)
@pytest.mark.parametrize("case", PATCH_CASES, ids=named)
def test_patches_match_the_server(case: Case) -> None:
    check(case)


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Managed fields and conflicts after creates, updates, patches and applies match the real server.",
)
def test_random_requests_match_the_server() -> None:
    cases = recorded_random()
    assert len(cases) >= 60
    for case, answers in cases:
        check(case, answers)


def check(case: Case, answers: list[Object] | None = None) -> None:
    for number, ours, theirs in replay(case, answers or recorded()[case.name]):
        where = f"{case.name}, step {number}: {case.steps[number]}"
        if is_validation(theirs.refusal):
            assert ours.refusal is None, where
            continue
        assert ours.refusal == theirs.refusal, where
        assert managed_fields(ours.object) == managed_fields(theirs.object), where


def test_tables_are_large_and_case_names_are_unique() -> None:
    assert len(APPLY_CASES) >= 100
    assert len(PATCH_CASES) >= 50
    assert len({case.name for case in (*APPLY_CASES, *PATCH_CASES)}) == len(APPLY_CASES) + len(PATCH_CASES)
    assert set(recorded()) == {case.name for case in (*APPLY_CASES, *PATCH_CASES)}
