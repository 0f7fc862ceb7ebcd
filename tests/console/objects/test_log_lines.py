"""Levels, filters and repeats of container logs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.console.objects import LEVELS, fold_repeats, level_of, select_lines


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("2026-01-01T00:00:00.123456789Z E0101 15:04:05.1 1 main.go:7] no", "error"),
        ("I0101 15:04:05.1 1 main.go:7] errors are counted", "info"),
        ('{"level":"warn","msg":"slow"}', "warning"),
        ("level=debug msg=x", "debug"),
        ("2026-01-01T00:00:00Z Traceback (most recent call last):", "error"),
        ("[ERROR] nope", "error"),
        ("GET /healthz 200", "info"),
        ("", "info"),
    ],
)
def test_recognizes_levels(line: str, level: str) -> None:
    assert level_of(line) == level


def test_selects_lines_by_level_and_text() -> None:
    lines = ["INFO start", "WARN slow disk", "ERROR Disk lost"]
    assert [*select_lines(lines)] == lines
    assert [*select_lines(lines, "warning")] == lines[1:]
    assert [*select_lines(lines, "", "disk")] == lines[1:]
    assert [*select_lines(lines, "error", "slow")] == []


def test_folds_lines_that_differ_only_in_numbers() -> None:
    lines = ["2026-01-01T00:00:01Z try 1", "2026-01-01T00:00:02Z try 2", "2026-01-01T00:00:03Z done"]
    assert [*map(str, fold_repeats(lines))] == ["2026-01-01T00:00:02Z try 2  (2 times)", "2026-01-01T00:00:03Z done"]


@given(st.lists(st.text()))
def test_folding_keeps_the_number_of_lines(lines: list[str]) -> None:
    assert sum(one.times for one in fold_repeats(lines)) == len(lines)
    assert all(level_of(line) in LEVELS for line in lines)
