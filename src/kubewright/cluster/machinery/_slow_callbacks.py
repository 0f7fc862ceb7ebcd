"""`SlowCallbacks`: measures the steps of requests and controllers between two awaits."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final, TypeVar

__all__ = ["SlowCallbacks"]

T = TypeVar("T")

_log: Final = logging.getLogger("kubewright.cluster")
_THRESHOLD_SECONDS: Final = 0.05
_LOG_SECONDS: Final = 10.0
_METRICS: Final = """\
# HELP kubewright_cluster_slow_callbacks_total Steps of requests and controllers that blocked the event loop for 50 ms.
# TYPE kubewright_cluster_slow_callbacks_total counter
kubewright_cluster_slow_callbacks_total {count}
# HELP kubewright_cluster_slow_callbacks_seconds_total CPU time of these steps.
# TYPE kubewright_cluster_slow_callbacks_seconds_total counter
kubewright_cluster_slow_callbacks_seconds_total {seconds:.3f}
"""


class SlowCallbacks:
    """Reports work that blocks the event loop for at least `threshold` seconds of CPU time.

    Nothing else runs on an event loop between two awaits of a coroutine. `measured` counts the CPU time of each such
    step, which the load of the machine does not change. Logs one warning in 10 seconds, with the number of other slow
    steps since the last one. `Watchdog` reports longer blocks while they last, with their stack.

    Args:
        cpu_time: returns the CPU time of the current thread.
        monotonic: limits the rate of the log.

    Attributes:
        count: how many steps were slow so far.
        seconds: their total CPU time.
    """

    def __init__(
        self,
        *,
        threshold: float = _THRESHOLD_SECONDS,
        cpu_time: Callable[[], float] = time.thread_time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.count = 0
        self.seconds = 0.0
        self._threshold = threshold
        self._cpu_time = cpu_time
        self._monotonic = monotonic
        self._logged_at = -math.inf
        self._unlogged = 0

    async def measured(self, name: str, work: Awaitable[T]) -> T:
        """Awaits `work` and returns its result. `name` identifies it in the log."""
        return await _Steps(self, name, work)

    def metrics(self) -> bytes:
        """Returns the counters in the text format of Prometheus."""
        return _METRICS.format(count=self.count, seconds=self.seconds).encode()

    def begin(self) -> float:
        """Called at the beginning of a step."""
        return self._cpu_time()

    def end(self, name: str, began: float) -> None:
        """Called at the end of a step, with the result of `begin`."""
        used = self._cpu_time() - began
        if used < self._threshold:
            return
        self.count += 1
        self.seconds += used
        now = self._monotonic()
        if now - self._logged_at < _LOG_SECONDS:
            self._unlogged += 1
            return
        more = f"; {self._unlogged} more since the last warning" if self._unlogged else ""
        self._logged_at, self._unlogged = now, 0
        _log.warning("%s blocked the event loop of the embedded cluster for %d ms%s", name, round(used * 1000), more)


class _Steps(Awaitable[T]):
    """Drives an awaitable, and measures each of its steps."""

    def __init__(self, measure: SlowCallbacks, name: str, work: Awaitable[T]) -> None:
        self._measure, self._name, self._work = measure, name, work

    def __await__(self) -> Generator[Any, Any, T]:
        steps: Any = self._work.__await__()
        resume: Callable[[], Any] = steps.__next__
        while True:
            began = self._measure.begin()
            try:
                awaited = resume()
            except StopIteration as ended:
                result: T = ended.value
                return result
            finally:
                self._measure.end(self._name, began)
            try:
                sent = yield awaited
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as error:  # a cancellation
                resume = _throwing(steps, error)
            else:
                resume = _sending(steps, sent)


def _throwing(steps: Any, error: BaseException) -> Callable[[], Any]:
    return lambda: steps.throw(error)


def _sending(steps: Any, value: Any) -> Callable[[], Any]:
    return steps.__next__ if value is None else lambda: steps.send(value)
