"""The arithmetic: medians, percentiles and ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

__all__ = ["Numbers", "medians", "percentile", "ratios"]

Numbers = Mapping[str, float]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least that many percent of the values do not exceed (nearest rank)."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    if not 0 < percent <= 100:
        raise ValueError(f"a percentile is above 0 and at most 100, not {percent}")
    rank = math.ceil(len(values) * percent / 100)
    return sorted(values)[rank - 1]


def medians(rounds: Iterable[Numbers]) -> dict[str, float]:
    """The median of each number over all rounds that have it."""
    collected: dict[str, list[float]] = {}
    for numbers in rounds:
        for name, value in numbers.items():
            collected.setdefault(name, []).append(value)
    return {name: median(values) for name, values in collected.items()}


def ratios(numbers: Numbers, reference: Numbers) -> dict[str, float]:
    """Each number as a multiple of the reference's, for those that both have and that are not 0 there."""
    return {name: value / reference[name] for name, value in numbers.items() if reference.get(name)}
