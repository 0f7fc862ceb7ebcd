"""`RetryPolicy`: decides whether a request is retried, and after which delay."""

from __future__ import annotations

import random
from typing import Final

import msgspec

from kubewright.backoff import doubled
from kubewright.client._errors import ApiError, TooManyRequests
from kubewright.durations import Duration, check_duration, parse_duration

__all__ = ["RetryPolicy"]


_NOT_IN_SCHEMA: Final = "failed to create typed patch object"


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Bounded retries with jittered exponential backoff.

    - 429: the server refused before doing anything, so any request is retried.
    - A 5xx response with Retry-After: likewise, the server asks for it.
    - Other 5xx responses, and connections that broke after the request was sent: only requests that are safe to repeat.
      501 (not implemented) and 505 are final.
    - Connections that could not be opened: any request.

    At most `attempts` in total, and none that would begin after the `deadline`: then the last error is raised.
    """

    attempts: int = 8
    deadline: Duration = 30.0
    first_delay: Duration = 0.1
    longest_delay: Duration = 5.0

    def __post_init__(self) -> None:
        for name in ("deadline", "first_delay", "longest_delay"):
            check_duration(name, getattr(self, name))

    @property
    def deadline_seconds(self) -> float:
        """`deadline` in seconds."""
        return parse_duration(self.deadline)

    def may_repeat(self, error: ApiError, *, repeatable: bool, sent: bool) -> bool:
        """Whether this failure allows another attempt."""
        if isinstance(error, TooManyRequests):
            return not _is_eviction_refusal(error)
        if error.code == 0:
            return not sent or repeatable
        if error.is_temporary and not _is_schema_refusal(error):
            return repeatable or error.asked_to_retry
        return False

    def delay(self, attempt: int, error: ApiError, rng: random.Random) -> float:
        """Returns the seconds to wait after that attempt (counted from 1)."""
        first, longest = parse_duration(self.first_delay), parse_duration(self.longest_delay)
        delay = doubled(attempt - 1, first=first, longest=longest) * rng.uniform(0.5, 1.0)
        return max(delay, error.retry_after or 0.0)


def _is_schema_refusal(error: ApiError) -> bool:
    """Whether an applied object does not fit its schema: the server answers 500, but it will never fit."""
    return error.code == 500 and _NOT_IN_SCHEMA in error.status.message


def _is_eviction_refusal(error: TooManyRequests) -> bool:
    """Whether a disruption budget forbids an eviction (429) until pods are healthy.

    The caller decides when to retry.
    """
    return any(cause.reason == "DisruptionBudget" for cause in error.causes)
