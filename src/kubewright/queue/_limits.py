"""How long a key waits before it is tried again."""

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
    """Decides how long a key waits. Any object with these three methods will do; used from the event loop's thread."""

    def when(self, key: K_contra) -> float:
        """Counts one more retry of the key and return the seconds it must wait for it."""

    def forget(self, key: K_contra) -> None:
        """Starts anew with this key: it succeeded, or nobody will retry it."""

    def retries(self, key: K_contra) -> int:
        """Returns how often `when` was asked for the key since it was last forgotten."""


class ExponentialBackoff(Generic[K]):
    """Doubles a key's delay with each retry: 5 ms, 10 ms, 20 ms, … up to 1000 s, each key for itself.

    `jitter` makes each delay longer by a random part of up to that fraction (0.2: up to a fifth), also at the cap, so
    that keys that failed together do not come back together. Only keys that are being retried take memory.
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
        """Returns seconds until the next try; the one after that waits twice as long."""
        retries = self._retries.get(key, 0)
        self._retries[key] = retries + 1
        delay = doubled(retries, first=self._base, longest=self._cap)
        return delay * (1 + self._jitter * self._rng.random()) if self._jitter else delay

    def forget(self, key: K) -> None:
        """Returns the key's next delay is the base again."""
        self._retries.pop(key, None)

    def retries(self, key: K) -> int:
        """Returns how often the key was retried since it was last forgotten."""
        return self._retries.get(key, 0)


class TokenBucket(Generic[K]):
    """Limits the retries of all keys together: `burst` at once, then `rate` per second, in the order of asking."""

    def __init__(self, rate: float = 10.0, burst: int = 100, *, clock: Clock | None = None) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a token bucket needs a rate above 0 and a burst of at least 1; got {rate} and {burst}")
        self._rate = rate
        self._burst = burst
        self._now = (clock or SystemClock()).monotonic
        self._tokens = float(burst)
        self._filled_at = self._now()

    def when(self, key: K) -> float:
        """Takes a token; when none is left, take the next that will drop in, and say in how many seconds that is."""
        now = self._now()
        self._tokens = min(self._tokens + (now - self._filled_at) * self._rate, self._burst) - 1
        self._filled_at = now
        return max(-self._tokens / self._rate, 0.0)

    def forget(self, key: K) -> None:
        """Nothing: the bucket does not know keys."""

    def retries(self, key: K) -> int:
        """Always 0: the bucket does not know keys."""
        return 0


class MaxOf(Generic[K]):
    """Asks several limiters and obeys the one that wants the longest wait. Each of them counts the retry."""

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        if not limiters:
            raise ValueError("MaxOf needs at least one rate limiter")
        self._limiters = limiters

    def when(self, key: K) -> float:
        """Returns the longest of the limiters' delays."""
        return max([limiter.when(key) for limiter in self._limiters])

    def forget(self, key: K) -> None:
        """Returns every limiter forgets the key."""
        for limiter in self._limiters:
            limiter.forget(key)

    def retries(self, key: K) -> int:
        """Returns the highest of the limiters' counts."""
        return max([limiter.retries(key) for limiter in self._limiters])
