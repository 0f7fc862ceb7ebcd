"""Schedules of CronJobs. The differential scenarios compare the messages with the real server's."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from kubewright.cluster.machinery import Schedule, schedule_problem


@pytest.mark.parametrize(
    "schedule",
    ["* * * * *", "*/5 0 1,15 * 1-5", "0 0 29 2 *", "59 23 31 12 6", "0 0 ? JAN-mar sun,SAT", "@daily", "@every 90s"],
)
def test_accepts_valid_schedule(schedule: str) -> None:
    assert schedule_problem(schedule) is None


@pytest.mark.promise(
    "The embedded cluster",
    "Invalid objects of built-in kinds are rejected with the field and the message of the real server.",
)
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
def test_rejects_invalid_schedule_with_reason(schedule: str, problem: str) -> None:
    assert schedule_problem(schedule) == problem


def times(schedule: str, start: str, count: int, zone: str | None = None) -> list[str]:
    """Returns the next times in UTC, to the minute."""
    made = Schedule(schedule, ZoneInfo(zone) if zone else None)
    found, moment = [], datetime.fromisoformat(start).replace(tzinfo=UTC)
    for _ in range(count):
        following = made.after(moment)
        assert following is not None
        moment = following
        found.append(moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", ["2030-01-01 00:01", "2030-01-01 00:02"]),
        ("*/20 5 * * *", ["2030-01-01 05:00", "2030-01-01 05:20"]),
        ("0 0 1 * *", ["2030-02-01 00:00", "2030-03-01 00:00"]),
        ("30 12 * * mon-fri", ["2030-01-01 12:30", "2030-01-02 12:30"]),
        ("0 0 29 2 *", ["2032-02-29 00:00"]),
        ("0 0 13 * fri", ["2030-01-04 00:00", "2030-01-11 00:00", "2030-01-13 00:00"]),
        ("0 0 */10 * fri", ["2030-01-11 00:00", "2030-02-01 00:00"]),
        ("@weekly", ["2030-01-06 00:00", "2030-01-13 00:00"]),
        ("@hourly", ["2030-01-01 01:00"]),
        ("@every 1h30m", ["2030-01-01 01:30", "2030-01-01 03:00"]),
    ],
)
def test_computes_next_times(schedule: str, expected: list[str]) -> None:
    assert times(schedule, "2030-01-01T00:00:00", len(expected)) == expected


def test_impossible_schedule_has_no_next_time() -> None:
    assert Schedule("0 0 30 2 *").after(datetime(2030, 1, 1, tzinfo=UTC)) is None


def test_applies_time_zone() -> None:
    assert times("0 12 * * *", "2030-01-01T00:00:00", 1, "Asia/Kolkata") == ["2030-01-01 06:30"]


@pytest.mark.promise(
    "The embedded cluster",
    "Times that a clock change skips or repeats are skipped or run twice, as in the real controller.",
)
def test_skips_time_that_a_clock_change_skips() -> None:
    # In Paris, 2:00 is followed by 3:00 on 2030-03-31.
    assert times("30 2 * * *", "2030-03-30T00:00:00", 2, "Europe/Paris") == ["2030-03-30 01:30", "2030-04-01 00:30"]


@pytest.mark.promise(
    "The embedded cluster",
    "Times that a clock change skips or repeats are skipped or run twice, as in the real controller.",
)
def test_runs_twice_at_time_that_occurs_twice() -> None:
    # In Paris, 3:00 is followed by 2:00 on 2030-10-27.
    expected = ["2030-10-27 00:30", "2030-10-27 01:30", "2030-10-28 01:30"]
    assert times("30 2 * * *", "2030-10-26T12:00:00", 3, "Europe/Paris") == expected
