"""How long a reflector waits before it tries again."""

from __future__ import annotations

import random

__all__ = ["Backoff"]


class Backoff:
    """Delays that double from `first` to `longest` seconds, each shortened by up to a half at random.

    Without the randomness, all caches of a cluster would come back to a restarted server at the same moment.
    """

    def __init__(self, rng: random.Random, *, first: float = 0.8, longest: float = 30.0) -> None:
        self._rng = rng
        self._first = first
        self._longest = longest
        self._failures = 0

    def next(self) -> float:
        """Seconds to wait now."""
        # The exponent is bounded: 2.0 ** 1024 overflows, and a cluster can be away for a week.
        delay = min(self._first * 2.0 ** min(self._failures, 32), self._longest)
        self._failures += 1
        return delay * self._rng.uniform(0.5, 1.0)

    def reset(self) -> None:
        """All is well: begin with the first delay the next time."""
        self._failures = 0
