"""Rate limiters: how long a key waits before it is retried."""

from __future__ import annotations

import random
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from kubewright.backoff import doubled
from kubewright.clock import Clock, SystemClock

__all__ = ["ExponentialBackoff", "MaxOf", "RateLimiter", "TokenBucket"]

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class RateLimiter(Protocol[K_contra]):
    """Decides how long a key waits. Any object with these three methods works. Used from the event loop's thread."""

    def when(self, key: K_contra) -> float:
        """Counts one more retry of the key and returns the seconds that it must wait."""

    def forget(self, key: K_contra) -> None:
        """Resets the key: it succeeded, or will not be retried."""

    def retries(self, key: K_contra) -> int:
        """Returns how often `when` was called for the key since it was last forgotten."""


class ExponentialBackoff(Generic[K]):
    """Doubles a key's delay with each retry: 5 ms, 10 ms, 20 ms, … up to 1000 s, for each key separately.

    `jitter` makes each delay longer by a random part of up to that fraction (0.2: up to a fifth), also at the cap, so
    that keys that failed together are not retried together. Only keys that are being retried take memory.
    """

    def __init__(
        self, base: float = 0.005, cap: float = 1000.0, *, jitter: float = 0.0, rng: random.Random | None = None
    ) -> None:
        if not 0 < base <= cap:
            raise ValueError(f"backoff needs 0 < base <= cap, in seconds; got base={base}, cap={cap}")
        if jitter < 0:
            raise ValueError(f"jitter is a fraction of the delay, such as 0.2, and not negative; got {jitter}")
        self._base = base
        self._cap = cap
        self._jitter = jitter
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, protects nothing
        self._retries: dict[K, int] = {}

    def when(self, key: K) -> float:
        """Returns the seconds until the next retry. The one after that waits twice as long."""
        retries = self._retries.get(key, 0)
        self._retries[key] = retries + 1
        delay = doubled(retries, first=self._base, longest=self._cap)
        return delay * (1 + self._jitter * self._rng.random()) if self._jitter else delay

    def forget(self, key: K) -> None:
        """Resets the key's delay to the base."""
        self._retries.pop(key, None)

    def retries(self, key: K) -> int:
        """Returns how often the key was retried since it was last forgotten."""
        return self._retries.get(key, 0)


class TokenBucket(Generic[K]):
    """Limits the retries of all keys together: `burst` immediately, then `rate` per second, in order of arrival."""

    def __init__(self, rate: float = 10.0, burst: int = 100, *, clock: Clock | None = None) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a token bucket needs a rate above 0 and a burst of at least 1; got {rate} and {burst}")
        self._rate = rate
        self._burst = burst
        self._now = (clock or SystemClock()).monotonic
        self._tokens = float(burst)
        self._filled_at = self._now()

    def when(self, key: K) -> float:
        """Takes a token. If none is left, takes the next one and returns the seconds until it arrives."""
        now = self._now()
        self._tokens = min(self._tokens + (now - self._filled_at) * self._rate, self._burst) - 1
        self._filled_at = now
        return max(-self._tokens / self._rate, 0.0)

    def forget(self, key: K) -> None:
        """Does nothing: the bucket does not distinguish keys."""

    def retries(self, key: K) -> int:
        """Returns 0: the bucket does not distinguish keys."""
        return 0


class MaxOf(Generic[K]):
    """Combines several limiters: the longest delay counts. Each limiter counts the retry."""

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        if not limiters:
            raise ValueError("MaxOf needs at least one rate limiter")
        self._limiters = limiters

    def when(self, key: K) -> float:
        """Returns the longest of the limiters' delays."""
        return max([limiter.when(key) for limiter in self._limiters])

    def forget(self, key: K) -> None:
        """Makes every limiter forget the key."""
        for limiter in self._limiters:
            limiter.forget(key)

    def retries(self, key: K) -> int:
        """Returns the highest of the limiters' counts."""
        return max([limiter.retries(key) for limiter in self._limiters])
