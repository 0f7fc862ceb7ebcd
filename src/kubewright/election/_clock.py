"""A clock that also counts the time that the machine was asleep."""

from __future__ import annotations

import time

from kubewright.clock import SystemClock

__all__ = ["BootClock"]


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class BootClock(SystemClock):
    """The time of this machine, whose `monotonic` goes on while the machine is suspended.

    Where the system has no such clock (it is Linux's CLOCK_BOOTTIME), `monotonic` is the ordinary one.
    """

    monotonic = staticmethod(_since_boot if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic)
