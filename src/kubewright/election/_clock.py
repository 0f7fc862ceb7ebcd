"""A clock that includes the time in which the machine was suspended."""

from __future__ import annotations

import time

from kubewright.clock import SystemClock

__all__ = ["BootClock"]


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class BootClock(SystemClock):
    """The time of this machine. `monotonic` continues while the machine is suspended.

    If the system has no such clock (Linux has CLOCK_BOOTTIME), `monotonic` is the ordinary one.
    """

    monotonic = staticmethod(_since_boot if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic)
