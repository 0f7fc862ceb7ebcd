"""Durations, as options take them and as messages print them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubewright
from kubewright.arguments import InvalidValue
from kubewright.durations import format_age, format_duration, more_than_zero, parse_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (4e-7, "0.4µs"),
        (4e-8, "0s"),
        (0.00004, "40µs"),
        (0.0009999, "1ms"),
        (0.00496, "5ms"),
        (0.0123, "12ms"),
        (0.25, "250ms"),
        (0.9996, "1s"),
        (1.25, "1.25s"),
        (2.5, "2.5s"),
        (9.999, "10s"),
        (30, "30s"),
        (59.96, "1m"),
        (90, "1m30s"),
        (1000, "16m40s"),
        (3600, "1h"),
        (3601, "1h1s"),
        (90061, "25h1m1s"),
        (-90, "-1m30s"),
        (float("inf"), "inf"),
    ],
)
def test_formats_for_people(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(min_value=0, max_value=1e8))
def test_formatted_durations_can_be_parsed(seconds: float) -> None:
    text = format_duration(seconds)
    assert "e" not in text
    assert parse_duration(text) == pytest.approx(seconds, rel=0.051, abs=1e-6)


@pytest.mark.parametrize(("seconds", "text"), [(-1, "0s"), (59.9, "59s"), (299, "4m"), (7200, "2h"), (200_000, "2d")])
def test_ages_have_one_unit(seconds: float, text: str) -> None:
    assert format_age(seconds) == text


@pytest.mark.parametrize(
    ("given_", "seconds"),
    [
        (30, 30),
        ("1m30s", 90),
        ("500ms", 0.5),
        ("40µs", 0.00004),
        (" 2h ", 7200),
        (timedelta(minutes=1), 60),
        (".5", 0.5),
    ],
)
def test_parses_numbers_strings_and_timedeltas(given_: object, seconds: float) -> None:
    assert parse_duration(given_) == pytest.approx(seconds)


@pytest.mark.parametrize("given_", ["", "soon", "1d", "1m 30s", -1, True, None, float("nan"), timedelta(seconds=-1)])
def test_rejects_invalid_durations(given_: object) -> None:
    with pytest.raises(InvalidValue, match="such as 30s, 1m30s, 500ms"):
        parse_duration(given_)
    with pytest.raises(InvalidValue, match="and more than 0"):
        more_than_zero(0)


_PLAIN_SECONDS = re.compile(r"(%[.\d]*[gf]|\{[^{}]*:[.\d]*[gf]\}|\{\w*seconds\w*\}) (s|ms|min|h)\b")


def test_no_message_prints_seconds_as_a_plain_number() -> None:
    """The embedded cluster is left out: it prints as kubectl and the kubelet do."""
    root = Path(kubewright.__file__).parent
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in root.rglob("*.py")
        if path.relative_to(root).parts[0] != "cluster"
        for line in path.read_text().splitlines()
        if _PLAIN_SECONDS.search(line)
    ]
    assert not found
