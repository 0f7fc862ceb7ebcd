"""The numbers of a queue, under the metric names of controller-runtime."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Protocol

import msgspec

__all__ = ["BUCKETS", "Durations", "Histogram", "QueueMetrics", "QueueStats"]

#: Upper bounds of the buckets of durations in seconds: those of controller-runtime, 10 ns to 1000 s. They are
#: multiplied as it does, because Prometheus compares bucket labels as strings: 9.999999999999999e-06.
BUCKETS: tuple[float, ...] = tuple(accumulate(range(11), lambda bound, _: bound * 10, initial=10e-9))


class QueueMetrics(Protocol):
    """Receives every action of a queue immediately, in the event loop. It must be fast and raise nothing.

    For most uses `WorkQueue.stats` is enough, which is computed on demand.
    """

    def added(self, priority: int) -> None:
        """A key became ready (`workqueue_adds_total`, and `workqueue_depth` grows)."""

    def raised(self, old: int, new: int) -> None:
        """A ready key moved to a higher priority (`workqueue_depth` by priority)."""

    def taken(self, priority: int, waited: float) -> None:
        """A worker took a key after that many seconds (`workqueue_queue_duration_seconds`; depth shrinks)."""

    def dropped(self, priority: int) -> None:
        """A shutdown without draining dropped a ready key (depth shrinks)."""

    def finished(self, worked: float) -> None:
        """A worker finished a key after that many seconds (`workqueue_work_duration_seconds`)."""

    def retried(self) -> None:
        """A key was added with a delay, by a rate limiter or explicitly (`workqueue_retries_total`)."""


class Histogram(msgspec.Struct, frozen=True):
    """Durations by bucket. `counts` has one number for each of the `bounds`, and one for longer durations."""

    counts: tuple[int, ...]
    sum: float
    bounds: tuple[float, ...] = BUCKETS

    @property
    def count(self) -> int:
        """The number of durations."""
        return sum(self.counts)

    def cumulative(self) -> list[tuple[float, int]]:
        """Pairs of upper bound and cumulative count, as Prometheus expects them; the last bound is inf."""
        total = 0
        return [
            (bound, total := total + count)
            for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True)
        ]


class Durations:
    """A histogram that is being filled."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...] = BUCKETS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Counts one duration."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    def snapshot(self) -> Histogram:
        """Returns the current numbers."""
        return Histogram(tuple(self.counts), self.sum, self.bounds)


class QueueStats(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a queue at one moment."""

    name: str
    depth: int
    """Keys that are ready: they wait for a worker, or for the end of their own run."""
    depth_by_priority: dict[int, int]
    delayed: int
    """Keys that become ready later."""
    running: int
    """Keys that workers are processing."""
    adds: int
    """How often a key became ready."""
    retries: int
    """How often a key was added with a delay."""
    queue_duration: Histogram
    work_duration: Histogram
    unfinished_work_seconds: float
    """The running times of all running keys, added up."""
    longest_running_processor_seconds: float

    def metrics(self) -> dict[str, float | Histogram | dict[int, int]]:
        """Returns the numbers by metric name. `workqueue_depth` is split by priority, as in controller-runtime."""
        return {
            "workqueue_depth": self.depth_by_priority,
            "workqueue_adds_total": self.adds,
            "workqueue_queue_duration_seconds": self.queue_duration,
            "workqueue_work_duration_seconds": self.work_duration,
            "workqueue_unfinished_work_seconds": self.unfinished_work_seconds,
            "workqueue_longest_running_processor_seconds": self.longest_running_processor_seconds,
            "workqueue_retries_total": self.retries,
        }
