"""The watchdog of a served cluster, and its metrics.

Only clusters that listen on a port have one: an in-process cluster runs on the event loop of its user.
"""

from __future__ import annotations

import logging
from typing import Final

from kubewright.watchdog import LoopWatchdog

__all__ = ["make_watchdog", "metrics_of"]

_log: Final = logging.getLogger("kubewright.cluster")
_THRESHOLD_SECONDS: Final = 0.5
_METRICS: Final = """\
# HELP kubewright_cluster_event_loop_blocked_total Callbacks that blocked the event loop of the cluster.
# TYPE kubewright_cluster_event_loop_blocked_total counter
kubewright_cluster_event_loop_blocked_total {count}
# HELP kubewright_cluster_event_loop_blocked_seconds_total Seconds for which callbacks blocked the event loop.
# TYPE kubewright_cluster_event_loop_blocked_seconds_total counter
kubewright_cluster_event_loop_blocked_seconds_total {seconds:.3f}
"""


def make_watchdog(*, threshold: float = _THRESHOLD_SECONDS) -> LoopWatchdog:
    """Returns a watchdog, which is not started yet."""
    message = (
        f"the event loop of the embedded cluster is blocked for more than {threshold:g} s, so no request is served"
    )
    return LoopWatchdog(_log, lambda frame: message, threshold=threshold)


def metrics_of(watchdog: LoopWatchdog) -> bytes:
    """Returns the counters in the text format of Prometheus."""
    return _METRICS.format(count=watchdog.count, seconds=watchdog.seconds).encode()
