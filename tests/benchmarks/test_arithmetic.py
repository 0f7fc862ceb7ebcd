import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arithmetic import medians, percentile, ratios

numbers = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1)


def test_percentile_is_the_value_of_the_nearest_rank() -> None:
    hundred = [float(value) for value in range(100, 0, -1)]
    assert percentile(hundred, 50) == 50
    assert percentile(hundred, 99) == 99
    assert percentile(hundred, 100) == 100
    assert percentile([7.0], 1) == 7
    assert percentile([1.0, 2.0, 3.0], 99) == 3


@given(numbers, st.integers(1, 100))
def test_percentile_leaves_at_least_that_share_below_or_at_it(values: list[float], percent: int) -> None:
    found = percentile(values, percent)
    not_above = sum(value <= found for value in values)
    below = sum(value < found for value in values)
    assert not_above * 100 >= len(values) * percent
    assert below * 100 < len(values) * percent


@pytest.mark.parametrize("percent", [0, -1, 101])
def test_percentile_rejects_invalid_percentage(percent: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 100"):
        percentile([1.0], percent)


def test_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 50)


def test_medians_are_taken_number_by_number() -> None:
    rounds = [{"seconds": 3.0, "peak": 10.0}, {"seconds": 1.0}, {"seconds": 2.0, "peak": 20.0}]
    assert medians(rounds) == {"seconds": 2.0, "peak": 15.0}
    assert medians([]) == {}


def test_ratios_leave_out_what_the_reference_lacks_or_has_as_zero() -> None:
    assert ratios({"a": 6.0, "b": 1.0, "c": 5.0}, {"a": 2.0, "c": 0.0}) == {"a": 3.0}
