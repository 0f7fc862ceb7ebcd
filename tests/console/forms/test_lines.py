"""Matching lines of two documents."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.console.forms import matching_lines

LINES = st.lists(st.sampled_from("abcde"), max_size=30)


def holds(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """Checks the invariants of every result."""
    pairs = matching_lines(one, other)
    assert all(one[at] == other[other_at] for at, other_at in pairs)
    assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(pairs)), "both sides rise"
    return pairs


@given(LINES, LINES, LINES, LINES)
def test_matches_equal_lines_including_both_ends(
    begin: list[str], one: list[str], other: list[str], end: list[str]
) -> None:
    assert len(holds(begin + one + end, begin + other + end)) >= len(begin) + len(end)


@pytest.mark.promise(
    "Forms of the console",
    "Objects with thousands of lines are compared in bounded time.",
)
def test_matches_thousands_of_lines_by_unique_ones() -> None:
    old = [f"key-{at}: value" for at in range(20_000)]
    new = [f"key-{at}: {'other' if at % 7 == 0 else 'value'}" for at in range(20_000)]
    assert len(holds(old, new)) == 20_000 - len(range(0, 20_000, 7))
    assert len(holds(old, [*reversed(old)])) == 1


@pytest.mark.promise(
    "Forms of the console",
    "Objects with thousands of lines are compared in bounded time.",
)
def test_bounds_time_for_thousands_of_repeated_lines() -> None:
    old = [text for at in range(5_000) for text in ("- name: x", f"  v: {at % 3}")]
    new = [text for at in range(5_000) for text in ("- name: x", f"  v: {at * 7 % 5}")]
    assert holds(old, new)
    assert holds(old, [*new[:500], "one more", *new[500:]])
