"""Schedules of CronJobs. That the words are the real server's is shown by the differential scenarios."""

from __future__ import annotations

import pytest

from kubewright.cluster._schedules import schedule_problem


@pytest.mark.parametrize(
    "schedule",
    ["* * * * *", "*/5 0 1,15 * 1-5", "0 0 29 2 *", "59 23 31 12 6", "0 0 ? JAN-mar sun,SAT", "@daily", "@every 90s"],
)
def test_a_schedule_that_can_be_read_has_no_problem(schedule: str) -> None:
    assert schedule_problem(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * * 0 *", "beginning of range (0) below minimum (1): 0"),
        ("* 5-3 * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/2/3 * * * *", "too many slashes: */2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("@often", "unrecognized descriptor: @often"),
    ],
)
def test_a_schedule_that_cannot_be_read_is_told_why(schedule: str, problem: str) -> None:
    assert schedule_problem(schedule) == problem
