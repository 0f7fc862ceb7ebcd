"""Rates and latencies from sampled counters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.console.operators import Sample, latencies, percentile, rates

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
BOUNDS = (0.1, 0.5, 1.0)


def at(seconds: float, counts: tuple[int, ...] = (0, 0, 0, 0), **reconciles: int) -> Sample:
    return Sample(
        at=BEGAN + timedelta(seconds=seconds),
        reconciles=reconciles,
        counts=counts,
        bounds=BOUNDS,
        ready=0,
        delayed=0,
        active=0,
        retries=0,
    )


def test_rate_covers_ten_seconds() -> None:
    samples = [at(0, success=10), at(2, success=14, error=2), at(4, success=14, error=2), at(14, success=34, error=2)]
    assert [rate for _, rate in rates(samples)] == [3.0, 1.5, 2.0]
    assert [rate for _, rate in rates(samples, "error")] == [1.0, 0.5, 0.0]
    assert [when for when, _ in rates(samples)] == [one.at for one in samples[1:]]


def test_decreasing_counter_was_reset() -> None:
    assert [rate for _, rate in rates([at(0, success=100), at(2, success=4)])] == [2.0]


def test_simultaneous_samples_have_no_rate() -> None:
    assert rates([at(0, success=1), at(0, success=5)]) == []


@pytest.mark.parametrize(
    ("counts", "quantile", "expected"),
    [
        ((10, 0, 0, 0), 0.5, 0.05),
        ((5, 5, 0, 0), 0.5, 0.1),
        ((0, 10, 0, 0), 0.5, 0.3),
        ((90, 9, 1, 0), 0.99, 0.5),
        ((0, 0, 0, 3), 0.99, 1.0),
    ],
)
def test_percentile_is_within_its_bucket(counts: tuple[int, ...], quantile: float, expected: float) -> None:
    assert percentile(counts, BOUNDS, quantile) == pytest.approx(expected)


def test_empty_histogram_has_no_percentile() -> None:
    assert percentile((0, 0, 0, 0), BOUNDS, 0.5) is None
    assert percentile((), (), 0.5) is None


@given(
    st.lists(st.integers(0, 50), min_size=4, max_size=4),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_percentiles_increase_with_quantile(counts: list[int], one: float, other: float) -> None:
    low, high = sorted((one, other))
    if sum(counts):
        below, above = percentile(counts, BOUNDS, low), percentile(counts, BOUNDS, high)
        assert below is not None
        assert above is not None
        assert 0 <= below <= above + 1e-9 <= BOUNDS[-1] + 1e-9


def test_latencies_cover_thirty_seconds() -> None:
    samples = [at(0, (10, 0, 0, 0)), at(20, (10, 0, 4, 0)), at(60, (10, 0, 4, 0)), at(80, (14, 0, 4, 0))]
    found = latencies(samples, 0.5)
    assert [when for when, _ in found] == [one.at for one in samples[1:]]
    assert [value for _, value in found] == [pytest.approx(0.75), None, pytest.approx(0.05)]
