"""The guard of the number of tests."""

from __future__ import annotations

import pytest

from tools.collected import Shrunk, recorded, tier_of

BEFORE = {"plain": 10, "control_plane": 5}


def test_records_more_tests_without_a_reason() -> None:
    assert recorded({"plain": 12, "control_plane": 5}, BEFORE, None) == ""


def test_rejects_fewer_tests_without_a_reason() -> None:
    with pytest.raises(Shrunk, match="plain: 10 -> 9"):
        recorded({"plain": 9, "control_plane": 50}, BEFORE, None)


def test_records_the_reason_for_fewer_tests() -> None:
    added = recorded({"plain": 9, "control_plane": 5}, BEFORE, "two tests were the same")
    assert added == '\n[[fewer]]\ntier = "plain"\nfrom = 10\nto = 9\nreason = "two tests were the same"\n'


@pytest.mark.parametrize(
    ("markers", "tier"),
    [
        (set(), "plain"),
        ({"control_plane", "promise"}, "control_plane"),
        ({"postgres"}, "postgres"),
        ({"control_plane", "postgres"}, "control_plane"),
        ({"control_plane", "browser"}, "browser"),
    ],
)
def test_every_test_has_one_tier(markers: set[str], tier: str) -> None:
    assert tier_of(markers) == tier
