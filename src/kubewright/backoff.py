"""Delays that double with each failure."""

from __future__ import annotations

import random
from typing import Final

__all__ = ["Backoff", "doubled"]

_MAX_DOUBLINGS: Final = 1_000  # 2.0 ** 1024 overflows, and a thousand doublings reach any maximum


def doubled(failures: int, *, first: float, longest: float) -> float:
    """Returns the delay after that many earlier failures: `first` after none, twice as long each time, to `longest`."""
    return min(first * 2.0 ** min(failures, _MAX_DOUBLINGS), longest)


class Backoff:
    """Delays that double from `first` to `longest` seconds.

    With an `rng`, each delay is shortened by up to a half at random, so that clients that failed together do not
    reconnect to a restarted server together.
    """

    def __init__(self, *, first: float, longest: float, rng: random.Random | None = None) -> None:
        self._first = first
        self._longest = longest
        self._rng = rng
        self._failures = 0

    def next(self) -> float:
        """Counts a failure and returns the seconds to wait."""
        delay = doubled(self._failures, first=self._first, longest=self._longest)
        self._failures += 1
        return delay if self._rng is None else delay * self._rng.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Starts over with the first delay, after a success."""
        self._failures = 0
