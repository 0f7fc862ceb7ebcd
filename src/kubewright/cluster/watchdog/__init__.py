"""Watchdog of a served cluster: reports callbacks that block the event loop.

`Watchdog` checks an event loop from its own thread. If the loop does not respond in time, it logs the stack of the
blocking call, and counts it. `SlowCallbacks` counts and logs steps of requests and controllers that take 50 ms of CPU
time. `metrics` of both returns the counters for `/metrics`. Only clusters that listen on a port have
one: an in-process cluster runs on the event loop of its user, where asyncio's debug mode does the same.
"""

from __future__ import annotations

from kubewright.cluster.watchdog._slow_callbacks import SlowCallbacks
from kubewright.cluster.watchdog._watchdog import Watchdog

__all__ = ["SlowCallbacks", "Watchdog"]
