"""The work queue and its rate limiters.

A queue holds the keys of objects that need work and hands them to workers. It knows nothing about Kubernetes and can be
used alone:

    queue = WorkQueue[str]("foos")
    queue.add("default/one")

    async def worker() -> None:
        async for key in queue:
            with queue.processing(key):
                try:
                    await reconcile(key)
                    queue.forget(key)
                except Exception:
                    queue.add_rate_limited(key)

It gives the guarantees of client-go and controller-runtime: keys are deduplicated, no two workers have the same key, a
key that is added while it runs runs once more, higher priorities go first, delayed adds keep the earliest time, retries
back off exponentially, and a shutdown drains. See `WorkQueue` for each of them.

The default rate limiter is `ExponentialBackoff()`, 5 ms to 1000 s for each key, as in controller-runtime's priority
queue. The older default of client-go also limits all retries together to 10 per second (`MaxOf(ExponentialBackoff(),
TokenBucket(10, 100))`). After an outage that made 10,000 keys fail, it takes a quarter of an hour to retry them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.queue._limits import ExponentialBackoff, MaxOf, RateLimiter, TokenBucket
    from kubewright.queue._metrics import BUCKETS, Durations, Histogram, QueueMetrics, QueueStats
    from kubewright.queue._queue import LOW_PRIORITY, QueueShutDown, WorkQueue
    from kubewright.queue._state import KeyState

_MODULES = {
    "BUCKETS": "_metrics",
    "LOW_PRIORITY": "_queue",
    "Durations": "_metrics",
    "ExponentialBackoff": "_limits",
    "Histogram": "_metrics",
    "KeyState": "_state",
    "MaxOf": "_limits",
    "QueueMetrics": "_metrics",
    "QueueShutDown": "_queue",
    "QueueStats": "_metrics",
    "RateLimiter": "_limits",
    "TokenBucket": "_limits",
    "WorkQueue": "_queue",
}

__all__ = [
    "BUCKETS",
    "LOW_PRIORITY",
    "Durations",
    "ExponentialBackoff",
    "Histogram",
    "KeyState",
    "MaxOf",
    "QueueMetrics",
    "QueueShutDown",
    "QueueStats",
    "RateLimiter",
    "TokenBucket",
    "WorkQueue",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
