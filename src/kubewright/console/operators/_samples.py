"""Rates and latencies, computed from samples of counters.

A rate covers the last ten seconds, a latency the reconciles that ended within the last 30 seconds. A counter that
decreases was reset by a restart; earlier samples are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec

from kubewright.observe import ControllerReport, OperatorReport

__all__ = ["Sample", "latencies", "percentile", "rates", "sample"]

_RATE_SECONDS: Final = 10.0
_LATENCY_SECONDS: Final = 30.0


class Sample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The counters of a controller at one time."""

    at: datetime
    reconciles: dict[str, int]
    counts: tuple[int, ...]
    """The histogram of durations, by bucket."""
    bounds: tuple[float, ...]
    ready: int
    delayed: int
    active: int
    retries: int


def sample(report: OperatorReport, controller: ControllerReport) -> Sample:
    """Extracts the sample of a controller from a report."""
    durations = controller.durations
    return Sample(
        at=report.at,
        reconciles=controller.reconciles,
        counts=durations.counts if durations is not None else (),
        bounds=durations.bounds if durations is not None else (),
        ready=controller.ready,
        delayed=controller.delayed,
        active=controller.active,
        retries=controller.retries,
    )


def rates(samples: Sequence[Sample], result: str | None = None) -> list[tuple[datetime, float]]:
    """Returns reconciles per second, for one result or all, for each sample except the first."""
    return [
        (new.at, _grown(_count(old, result), _count(new, result)) / seconds)
        for old, new in _windows(samples, _RATE_SECONDS)
        if (seconds := (new.at - old.at).total_seconds()) > 0
    ]


def latencies(samples: Sequence[Sample], quantile: float) -> list[tuple[datetime, float | None]]:
    """Returns a quantile of reconcile durations for each sample except the first; None if no reconcile ended."""
    found: list[tuple[datetime, float | None]] = []
    for old, new in _windows(samples, _LATENCY_SECONDS):
        same = old.bounds == new.bounds and sum(old.counts) <= sum(new.counts)
        counts = [after - before for before, after in zip(old.counts, new.counts, strict=True)] if same else new.counts
        found.append((new.at, percentile(counts, new.bounds, quantile)))
    return found


def _windows(samples: Sequence[Sample], seconds: float) -> Iterator[tuple[Sample, Sample]]:
    """Yields each sample except the first, with the oldest sample within this many seconds, or its predecessor."""
    first = 0
    for number, new in enumerate(samples):
        while first < number - 1 and (new.at - samples[first].at).total_seconds() > seconds:
            first += 1
        if number:
            yield samples[first], new


def percentile(counts: Sequence[int], bounds: Sequence[float], quantile: float) -> float | None:
    """Returns a quantile of a histogram, interpolated linearly within a bucket; None for an empty histogram.

    Values beyond the last bound count as the last bound, as in Prometheus.
    """
    total = sum(counts)
    if total <= 0 or not bounds:
        return None
    wanted, seen, low = quantile * total, 0, 0.0
    for bound, count in zip(bounds, counts, strict=False):
        if count and seen + count >= wanted:
            return low + (bound - low) * max(wanted - seen, 0.0) / count
        seen += count
        low = bound
    return bounds[-1]


def _count(one: Sample, result: str | None) -> int:
    return sum(one.reconciles.values()) if result is None else one.reconciles.get(result, 0)


def _grown(old: int, new: int) -> int:
    return new - old if new >= old else new
