"""`RetryDelays`: how long a reflector waits before its next list or watch."""

from __future__ import annotations

import random
from typing import Final

from kubewright.backoff import Backoff
from kubewright.client import ApiError

__all__ = ["RetryDelays"]

_FIRST_DELAY: Final = 0.8
_LONGEST_DELAY: Final = 30.0
_STABLE_SECONDS: Final = 5.0
"""A watch that lasted this long worked: the next failure starts with the first delay. The limit is low, because some
proxies end every watch after a while, and the cache is stale while a reflector waits."""
_RELIST_SECONDS: Final = 30.0
"""If a server expires a resourceVersion within this many seconds after a watch began, relists back off."""
_LONGEST_RETRY_AFTER: Final = 300.0
"""The longest Retry-After of a server that is respected: the cache is stale during that time."""


class RetryDelays:
    """Chooses delays from how long the last watch lasted and how it ended."""

    def __init__(self, rng: random.Random) -> None:
        self._backoff = Backoff(first=_FIRST_DELAY, longest=_LONGEST_DELAY, rng=rng)
        self._relists = Backoff(first=_FIRST_DELAY, longest=_LONGEST_DELAY, rng=rng)
        self._expired = False  # whether the server answered 410 recently

    def watch_lasted(self, seconds: float) -> None:
        """Resets the backoffs after a watch that lasted long enough."""
        if seconds >= _RELIST_SECONDS:
            self._expired = False
            self._relists.reset()
        if seconds >= _STABLE_SECONDS:
            self._backoff.reset()

    def after_end(self, lasted: float) -> float:
        """Returns the delay after a watch that the server ended without an error."""
        return 0.0 if lasted >= _STABLE_SECONDS else self._backoff.next()

    def after_expiry(self) -> float:
        """Returns the delay before a relist: none the first time, then the backoff."""
        again, self._expired = self._expired, True
        return self._relists.next() if again else 0.0

    def after_error(self, error: Exception) -> float:
        """Returns the delay after any other error."""
        delay = self._backoff.next()
        if isinstance(error, ApiError) and error.retry_after is not None:
            delay = max(delay, min(error.retry_after, _LONGEST_RETRY_AFTER))
        return delay
