"""The cost of observing without a reader: `python -m tests.observe.observe_bench`. Not a test.

Each line is the time of one call in the best of several rounds. Other load on the machine affects it.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable

from kubewright.api import ResourceInfo
from kubewright.cache import ObjectKey
from kubewright.client import Outcome, Request, Trace
from kubewright.observe import ControllerStats, History, Observer, Reconcile

INFO = ResourceInfo(group="example.com", version="v1", kind="Thing", plural="things", singular="thing", namespaced=True)
RNG = random.Random(1)
KEYS = [ObjectKey("default", f"thing-{number}") for number in range(10_000)]


def best(call: Callable[[int], object], count: int = 10_000, rounds: int = 7) -> float:
    """Returns the time of one call in nanoseconds."""
    found = float("inf")
    for _ in range(rounds):
        began = time.perf_counter_ns()
        for number in range(count):
            call(number)
        found = min(found, (time.perf_counter_ns() - began) / count)
    return found


def main() -> None:
    observer, history, stats = Observer(), History(), ControllerStats()

    def begin(number: int) -> Reconcile:
        return observer.begin(RNG, "thing", INFO, KEYS[number], attempt=1, trigger="updated", cause=None)

    def trace_before(number: int) -> None:
        with Trace(RNG).current():
            pass

    def trace_now(number: int) -> None:
        with begin(number).around():
            pass

    run = begin(0)

    def remember(number: int) -> None:
        run.key = KEYS[number]
        history.ended(run, "success", ended=1.0, seconds=0.001, waited=0.001)

    def measure(number: int) -> None:
        stats.durations.observe(0.001)
        stats.reconciles["success"] += 1

    request = Request(method="PATCH", path="/apis/example.com/v1/things/a", verb="patch", resource="things.example.com")
    outcome = Outcome(status=200, seconds=0.002, attempt=1)

    def hook(number: int) -> None:
        observer.requests(request)(outcome)

    print(f"a trace as it was before        {best(trace_before):8.0f} ns per reconcile")
    print(f"a reconcile that is observed    {best(trace_now):8.0f} ns per reconcile, in its place")
    print(f"remembering its end             {best(remember):8.0f} ns per reconcile")
    print(f"counting and timing it          {best(measure):8.0f} ns per reconcile")
    print(f"counting a request              {best(hook):8.0f} ns per request")
    tracemalloc.start()
    fresh = History()
    for key in KEYS:
        fresh.ended(
            observer.begin(RNG, "thing", INFO, key, attempt=1, trigger="initial", cause=None),
            "success",
            ended=time.monotonic(),
            seconds=random.random(),
            waited=random.random(),
        )
    size, _ = tracemalloc.get_traced_memory()
    print(f"memory of 10,000 objects        {size / 1e6:8.2f} MB, estimated at {fresh.size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
