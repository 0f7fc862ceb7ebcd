"""An optional limit on the requests per second that a client sends."""

from __future__ import annotations

from kubewright.clock import Clock

__all__ = ["RateLimit"]


class RateLimit:
    """A token bucket: on average `per_second` requests, `burst` of them immediately. Waiters are served in order."""

    def __init__(self, per_second: float, burst: int, clock: Clock) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs a positive rate and a burst of at least 1, not {per_second}/{burst}")
        self._interval = 1 / per_second
        self._burst = burst
        self._clock = clock
        self._full_at = clock.monotonic()  # the time at which the bucket is full again

    async def wait(self) -> None:
        """Waits for a token."""
        now = self._clock.monotonic()
        self._full_at = max(self._full_at, now) + self._interval
        delay = self._full_at - now - self._burst * self._interval
        if delay > 0:
            await self._clock.sleep(delay)
